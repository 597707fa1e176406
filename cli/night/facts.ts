import type { Entity } from '../../core/config/entities.ts';
import type { Pointer } from '../../core/export/pointer.ts';
import type { PublishedRun } from '../data/manifests.ts';
import type { Run } from '../runs/run/run.ts';
import type { NightlyPlan } from '../schedule/nightly-plan.ts';
import type { NotStarted } from '../schedule/rules.ts';
import type { MarkedNight } from './marked.ts';

/** A run without a file that counts: it failed, is under way, or succeeded and its file is not to be found. */
export interface Attempt
  extends Pick<
    Run,
    'run' | 'what' | 'byVerify' | 'kind' | 'unjudged' | 'outcome' | 'startedAt' | 'status' | 'error' | 'cause'
  > {
  entity: Entity;
  date: string;
}

/** What is known of a deployment, by which its nights are judged. */
export interface Facts extends NotStarted {
  deployment: string;
  plan: NightlyPlan;
  now: Date;
  /** How many nights are looked at, and more where the newest start of an entity was longer ago. */
  nights: number;
  /** When the deployment was made. */
  deployedAt: Date | undefined;
  /** The runs that count for their date. */
  published: PublishedRun[];
  attempts: Attempt[];
  /** Whether the executions could be read; else nothing is known of attempts. */
  attemptsKnown: boolean;
  /** Published runs whose table was not written. */
  withoutTable: string[];
  /** What the objects of nights say, the newest last; nothing of a date that has none. */
  marked: MarkedNight[];
  /** What readers get now; nothing of an entity that was never published. */
  newest: Partial<Record<Entity, Pick<Pointer, 'date' | 'startedAt' | 'execution'>>>;
}

/**
 * What became of an entity in a night: docs/operating.md, "What is said of a night". `gone`: published, but the bucket does not
 * show it any more; `due`: its start is still to come, or EventBridge may still deliver it; `late`: the same, or under way, past
 * its start and its deadline; `off`: the configuration has switched its rule off; `none`: nothing was to be expected, as before
 * the first run.
 */
export const NIGHT_OUTCOMES = [
  'published',
  'warned',
  'failed',
  'quarantined',
  'gone',
  'notStarted',
  'late',
  'running',
  'due',
  'paused',
  'withoutRule',
  'off',
  'none',
] as const;
export type NightOutcome = (typeof NIGHT_OUTCOMES)[number];

/** A date of an entity, judged. */
export interface Cell {
  entity: Entity;
  date: string;
  outcome: NightOutcome;
  /** The date is due, and readers do not have it. */
  missing: boolean;
  published: PublishedRun | null;
  /** The table of this published run was not written. */
  lacksTable: boolean;
  /** The attempts of the night, oldest first. */
  attempts: Attempt[];
}
