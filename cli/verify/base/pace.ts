/** How often something is looked at, and for how long. */
export interface Pace {
  everyMs: number;
  /** Logs, traces and metrics come minutes after the run. */
  patienceMs: number;
  /** An export that takes longer is not waited for. */
  runMs: number;
}

/** Nothing was found out: no reproach to the deployment. */
export class NotChecked extends Error {}
