/** How often something is looked at, and for how long. */
export interface Pace {
  everyMs: number;
  /** Logs, traces and metrics come minutes after the run. */
  patienceMs: number;
  /** An export that takes longer is not waited for. */
  runMs: number;
}
