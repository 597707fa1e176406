import { randomUUID } from 'node:crypto';
import type { Entity } from '../../core/config/entities.ts';
import type { Selection } from '../data/select.ts';
import type { Clock } from './clock.ts';
import type { FileContent } from './content.ts';
import type { Settings } from './settings.ts';

export interface ExportRequest extends Selection {
  columns: string[];
}

export type JobStatus = 'INITIATED' | 'PROCESSING' | 'PROCESSED';

/** One export record. */
export interface Job {
  id: string;
  entity: Entity;
  createdAt: number;
  /** How often its status was read. */
  reads: number;
  /** The file URLs, as their queries, that were answered, once for each time. */
  fetched: string[];
  content: FileContent;
}

const FIRST_NUMBER = 100_001;

/** The export records of this sandbox and how they progress. */
export class Jobs {
  readonly #jobs = new Map<string, Job>();
  readonly #settings: Settings;
  readonly #clock: Clock;

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** A new export record, by default under a random version 4 UUID. */
  create(entity: Entity, content: FileContent): Job {
    const job = { id: this.#idFor(entity), entity, createdAt: this.#clock.now(), reads: 0, fetched: [], content };
    this.#jobs.set(job.id, job);
    return job;
  }

  #idFor(entity: Entity): string {
    if (this.#settings.exportIds === 'numbers') return String(FIRST_NUMBER + this.#jobs.size);
    const before = [...this.#jobs.values()].find((job) => job.entity === entity);
    return this.#settings.exportIds === 'perEntity' && before ? before.id : randomUUID();
  }

  /** The export record, or undefined where the id is unknown or another entity's. */
  find(entity: Entity, id: string): Job | undefined {
    const job = this.#jobs.get(id.toLowerCase());
    return job?.entity === entity ? job : undefined;
  }

  /** How many exports are not PROCESSED yet. */
  underWay(): number {
    return [...this.#jobs.values()].filter((job) => this.statusOf(job) !== 'PROCESSED').length;
  }

  /** The status of the export now. */
  statusOf(job: Job): JobStatus {
    const { jobChecks, jobSeconds } = this.#settings;
    if (jobSeconds === null) return statusAfter(job.reads, jobChecks, 2);
    return statusAfter(this.#clock.now() - job.createdAt, jobSeconds * 1000, (jobSeconds * 1000) / 3);
  }
}

function statusAfter(done: number, needed: number, started: number): JobStatus {
  if (done >= needed) return 'PROCESSED';
  return done >= started ? 'PROCESSING' : 'INITIATED';
}
