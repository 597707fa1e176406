/**
 * The closed list of metrics that the functions emit, in one namespace for each deployment. Plain data, so that alarms, the
 * dashboard and the tests read the same list. Dimensions are entity and outcome, never ids: each combination is a metric
 * that is paid for, and that anyone with access to the console reads.
 *
 * `dimensions` are sets: one line counts under each of them. The empty set is the metric without dimensions.
 */
export const METRICS = {
  /** A run ended: outcome is PUBLISHED, or the error's name; of customer updates APPLIED or the error's name, without entity. */
  RunsEnded: { unit: 'Count', dimensions: [['entity', 'outcome'], ['outcome']] },
  /** From the start of a published run to its end. */
  RunDuration: { unit: 'Seconds', dimensions: [['entity']] },
  FileBytes: { unit: 'Bytes', dimensions: [['entity']] },
  /** Where rows are counted: CSV. */
  FileRows: { unit: 'Count', dimensions: [['entity']] },
  StatusChecks: { unit: 'Count', dimensions: [['entity']] },
  /** Warnings in the manifest of a published file; only where there are any. */
  FileWarnings: { unit: 'Count', dimensions: [[]] },
  /** Bytes of a stored file by the time since its first byte was asked for. */
  TransferRate: { unit: 'Bytes/Second', dimensions: [['entity']] },
  /** A refreshed grant was stored: one version of the secret. */
  TokenRefreshes: { unit: 'Count', dimensions: [[]] },
  /** A refreshed grant was lost: nobody has the token that works now. */
  GrantRotatedButNotStored: { unit: 'Count', dimensions: [[]] },
  /** A function wanted a refresh, and the token endpoint has left every presentation unanswered for four hours or more. */
  TokenEndpointUnanswered: { unit: 'Count', dimensions: [[]] },
} as const satisfies Record<string, { unit: MetricUnit; dimensions: readonly (readonly Dimension[])[] }>;

export type MetricName = keyof typeof METRICS;

export type Dimension = 'entity' | 'outcome';

/** Words of CloudWatch. */
export type MetricUnit = 'Count' | 'Seconds' | 'Bytes' | 'Bytes/Second';

/** The stack's name: two deployments in one account must not mix their numbers. */
export function namespaceOf(deployment: string): string {
  return `crm-export-${deployment}`;
}
