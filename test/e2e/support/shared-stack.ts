import { inject } from 'vitest';
import { connect } from '../../../cli/support/target.ts';
import { once } from '../../../core/step/step.ts';
import type { LedgerCall } from '../../../sandbox/world.ts';
import { type Deployed, deployForTests, type LocalCloud, lambdaOf, placeOf, runnersOn } from './deployed.ts';

/**
 * The stack that test files share if they only read it, or run exports without faults. The set-up of a test run deploys
 * it at the first request, in its own process, because test processes end early. No file may change its configuration,
 * rules, grant or sandbox answers. No file depends on another's publications: it counts and compares only its own
 * entity or date.
 */

const NAME = 'shared';
/** Types of some columns of leads, by their names in the CRM. */
export const TYPED = {
  score: 'integer',
  estimatedPremium: 'double',
  mailingApproved: 'boolean',
  nextContactDate: 'date',
  createdAt: 'timestamp',
} as const;
/** Columns of leads that stay texts. */
export const TEXTS = [
  ...['id', 'firstName', 'lastName', 'cellNumber', 'city', 'source', 'campaign', 'interest', 'status', 'agentId'],
];
const TABLE = {
  columns: { ...TYPED, ...Object.fromEntries([...TEXTS, 'updatedAt'].map((name) => [name, 'text'] as const)) },
  hash: ['email'],
  except: ['notes'],
};
const CONFIGURATION = {
  timeZone: 'Asia/Jerusalem',
  polling: { firstWaitSeconds: 1, largestWaitSeconds: 10, deadlineSeconds: 300, createAgainSeconds: 1 },
  entities: { leads: { tables: TABLE }, meetings: { schedule: 'rate(1 minute)' } },
  dashboard: true,
};

/** The shared stack for a test file. */
export interface SharedStack
  extends Pick<Deployed, 'name' | 'target' | 'cloud' | 'lambda' | 'place' | 'run' | 'runRaw'> {
  /** All calls to its sandbox, from any file. */
  calls(): Promise<LedgerCall[]>;
}

/** Deploys the shared stack for the set-up, which owns its sandbox. */
export function deploySharedStack(cloud: LocalCloud): Promise<Deployed> {
  return deployForTests(NAME, CONFIGURATION, {}, undefined, cloud);
}

/** Returns the deployed shared stack to a test file. */
export const sharedStack = once(async (): Promise<SharedStack> => {
  const cloud = inject('cloud');
  const answer = await fetch(inject('sharedStack'));
  const sandbox = await answer.text();
  if (!answer.ok) throw new Error(sandbox);
  const target = await connect({ deployment: NAME, endpointUrl: cloud.endpoint });
  return {
    name: NAME,
    target,
    cloud,
    lambda: lambdaOf(cloud),
    place: placeOf(NAME, cloud),
    ...runnersOn(() => target),
    calls: async () => (await (await fetch(`${sandbox}/_sandbox/ledger`)).json()) as LedgerCall[],
  };
});
