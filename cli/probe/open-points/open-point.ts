/** What the interface document leaves open, and how a first meeting with the CRM shows it. */
interface Described {
  /** Names the point in every report. */
  id: string;
  /** The three columns of docs/interface/open-points.md. */
  point: string;
  assumed: string;
  tolerated: string;
  /** The module that assumes it. */
  assumedIn: string;
  /** The setting that expresses another answer. */
  setting?: string;
}

/** How it is seen; or why it cannot be, which no report may call as assumed. */
export type OpenPoint = Described & ({ observed: string } | { cannotBeSeen: string });
