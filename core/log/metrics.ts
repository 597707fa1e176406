/**
 * All metrics of the functions. Each combination of dimensions is paid for: they are never ids. `dimensions` are sets: a line
 * counts under each of them; the empty set is the metric without dimensions.
 */
export const METRICS = {
  /**
   * `outcome` is PUBLISHED, PARTIAL (by a plan of its own), UNPUBLISHED or APPLIED, or the name of the error; VERIFY where the
   * command `verify` made a run that has to fail.
   */
  RunsEnded: { unit: 'Count', dimensions: [['entity', 'outcome'], ['outcome']] },
  /** Seconds from the start of a published run to its end. */
  RunDuration: { unit: 'Seconds', dimensions: [['entity']], dashboardOnly: true },
  FileBytes: { unit: 'Bytes', dimensions: [['entity']], dashboardOnly: true },
  /** Rows of files whose rows are counted: CSV. */
  FileRows: { unit: 'Count', dimensions: [['entity']], dashboardOnly: true },
  StatusChecks: { unit: 'Count', dimensions: [['entity']], dashboardOnly: true },
  /** Warnings in the manifest of a published file; only where there are any. */
  FileWarnings: { unit: 'Count', dimensions: [[]] },
  /** Changed columns that the configuration warns of, with a published or quarantined file; 1 where it stops at them. Only where there are any. */
  SchemaChanges: { unit: 'Count', dimensions: [[]] },
  /** A table could not be written; its file is published. */
  TablesNotWritten: { unit: 'Count', dimensions: [[]] },
  /** 1 in the hours behind the deadline of a night that is not complete, otherwise 0: every hour, whether anything runs or not. */
  NightIncomplete: { unit: 'Count', dimensions: [[]] },
  /** Bytes of a stored file by the time since its first byte was requested. */
  TransferRate: { unit: 'Bytes/Second', dimensions: [['entity']], dashboardOnly: true },
  /** A refreshed grant was stored: one version of the secret. */
  TokenRefreshes: { unit: 'Count', dimensions: [[]] },
  /** A refreshed grant was lost: nobody has the token that works now. */
  GrantRotatedButNotStored: { unit: 'Count', dimensions: [[]] },
  /** The token endpoint has not answered any refresh for four hours. */
  TokenEndpointUnanswered: { unit: 'Count', dimensions: [[]] },
} as const satisfies Record<string, Metric>;

interface Metric {
  unit: MetricUnit;
  dimensions: readonly (readonly Dimension[])[];
  /** Counted only where the deployment has a dashboard: nothing else reads it. */
  dashboardOnly?: true;
}

export type MetricName = keyof typeof METRICS;

/** Metrics that only the dashboard reads. */
export const DASHBOARD_ONLY = (Object.keys(METRICS) as MetricName[]).filter((name) => 'dashboardOnly' in METRICS[name]);

export type Dimension = 'entity' | 'outcome';

/** Words of CloudWatch. */
type MetricUnit = 'Count' | 'Seconds' | 'Bytes' | 'Bytes/Second';

/** The stack's name: two deployments in one account must not mix their numbers. */
export function namespaceOf(deployment: string): string {
  return `crm-export-${deployment}`;
}

export type Measures = { [N in MetricName]?: number | undefined };

interface Context {
  namespace: string;
  /** Milliseconds since 1970. */
  at: number;
  dimensions: { [D in Dimension]?: string | undefined };
  /** Whether the deployment has a dashboard. */
  dashboard: boolean;
}

/**
 * A log line in the embedded metric format of CloudWatch; `undefined` where no metric is left. A set of dimensions counts
 * where all of them are known.
 * Not by `@aws-lambda-powertools/metrics`: it gives all metrics of a line the same sets, writes an invalid
 * `"Dimensions": []`, is silent where POWERTOOLS_METRICS_DISABLED or POWERTOOLS_DEV is set, and adds 11 KB.
 */
export function embeddedMetrics(
  values: Measures,
  { namespace, at, dimensions, dashboard }: Context,
): Record<string, unknown> | undefined {
  const directives = (Object.keys(values) as MetricName[]).flatMap((name) => {
    if (!dashboard && DASHBOARD_ONLY.includes(name)) return [];
    const sets: readonly (readonly Dimension[])[] = METRICS[name].dimensions;
    const known = sets.filter((set) => set.every((dimension) => dimensions[dimension]));
    if (!Number.isFinite(values[name]) || known.length === 0) return [];
    return [{ Namespace: namespace, Dimensions: known, Metrics: [{ Name: name, Unit: METRICS[name].unit }] }];
  });
  if (directives.length === 0) return undefined;
  const names = directives.flatMap(({ Metrics }) => Metrics.map(({ Name }) => [Name, values[Name]]));
  return { ...dimensions, ...Object.fromEntries(names), _aws: { Timestamp: at, CloudWatchMetrics: directives } };
}
