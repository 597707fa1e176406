/** How an outcome is painted; its word always stands beside it. */
export type Tone = 'good' | 'warned' | 'bad' | 'open' | 'idle' | 'unknown';

interface Described {
  /** The outcome in the column of a table. */
  word: string;
  tone: Tone;
  /** Somebody has to do something, unless a later run was published. */
  needsPerson: boolean;
}

const good = (word: string): Described => ({ word, tone: 'good', needsPerson: false });
const idle = (word: string): Described => ({ word, tone: 'idle', needsPerson: false });
const bad = (word: string): Described => ({ word, tone: 'bad', needsPerson: true });

/** What can become of a run. `words.ts` has the sentences. */
export const OUTCOMES = {
  running: { word: 'under way', tone: 'open', needsPerson: false },
  published: good('published'),
  /** The file is there, for no reader: its plan is not the configured one. */
  stored: good('stored'),
  /** A guard had stopped the file, and a person released it. */
  released: good('released'),
  /** This execution released the file of another. */
  release: good('release'),
  table: good('table'),
  applied: good('applied'),
  /** `verify` gave it an input that no run accepts. */
  onPurpose: idle('failed on purpose'),
  /** Another run is published for the date, so its table is not written. */
  replaced: idle('table, superseded'),
  /** Starts by a rule that requested nothing. They are no runs. */
  notDue: idle('not due'),
  alreadyStarted: idle('already started'),
  /** The file is published, its table is not written. */
  withoutTable: bad('no table'),
  quarantined: bad('FileQuarantined'),
  /** The run is named by its error, or by the status of the execution. */
  failed: bad('failed'),
} satisfies Record<string, Described>;

export type Outcome = keyof typeof OUTCOMES;
export const OUTCOME_NAMES = Object.keys(OUTCOMES) as [Outcome, ...Outcome[]];
