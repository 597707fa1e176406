/**
 * All metrics of the functions. Each combination of dimensions costs money, so ids are never dimensions. `dimensions`
 * lists the sets under which a line counts; the empty set is the metric without dimensions.
 */
export const METRICS = {
  /**
   * `outcome` is PUBLISHED, PARTIAL (a run with its own plan), UNPUBLISHED, APPLIED or the name of the error. It is
   * VERIFY for a run that the command `verify` makes fail.
   */
  RunsEnded: { unit: 'Count', dimensions: [['entity', 'outcome'], ['outcome']] },
  /** Seconds from the start of a published run to its end. */
  RunDuration: { unit: 'Seconds', dimensions: [['entity']], dashboardOnly: true },
  FileBytes: { unit: 'Bytes', dimensions: [['entity']], dashboardOnly: true },
  /** Rows of the published file, if they were counted. */
  FileRows: { unit: 'Count', dimensions: [['entity']], dashboardOnly: true },
  StatusChecks: { unit: 'Count', dimensions: [['entity']], dashboardOnly: true },
  /** Warnings in the manifest of a published file; not written for 0. */
  FileWarnings: { unit: 'Count', dimensions: [[]] },
  /** Changed columns of a published or quarantined file; 1 if the change stopped the run. Not written for 0. */
  SchemaChanges: { unit: 'Count', dimensions: [[]] },
  /** Tables that could not be written although their file is published. */
  TablesNotWritten: { unit: 'Count', dimensions: [[]] },
  /** Written every hour: 1 in the hours after the deadline of an incomplete night, otherwise 0. */
  NightIncomplete: { unit: 'Count', dimensions: [[]] },
  /** Bytes of a stored file, divided by the transfer time. */
  TransferRate: { unit: 'Bytes/Second', dimensions: [['entity']], dashboardOnly: true },
  /** Refreshed grants that were stored, each a version of the secret. */
  TokenRefreshes: { unit: 'Count', dimensions: [[]] },
  /** Refreshed grants that were lost: the secret has no usable token. */
  GrantRotatedButNotStored: { unit: 'Count', dimensions: [[]] },
  /** The token endpoint has not answered any refresh for four hours. */
  TokenEndpointUnanswered: { unit: 'Count', dimensions: [[]] },
} as const satisfies Record<string, Metric>;

interface Metric {
  unit: MetricUnit;
  dimensions: readonly (readonly Dimension[])[];
  /** Written only if the deployment has a dashboard, because only the dashboard reads it. */
  dashboardOnly?: true;
}

export type MetricName = keyof typeof METRICS;

/** Metrics that only the dashboard reads. */
export const DASHBOARD_ONLY = (Object.keys(METRICS) as MetricName[]).filter((name) => 'dashboardOnly' in METRICS[name]);

export type Dimension = 'entity' | 'outcome';

/** Units as CloudWatch spells them. */
type MetricUnit = 'Count' | 'Seconds' | 'Bytes' | 'Bytes/Second';

/** The stack's name, so that metrics of two deployments in one account stay separate. */
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
 * A log line in the embedded metric format of CloudWatch; `undefined` if it has no metric. A set of dimensions counts
 * if all of them have a value. Not `@aws-lambda-powertools/metrics`: it uses the same sets for all metrics of a line,
 * writes an invalid `"Dimensions": []`, writes nothing if POWERTOOLS_METRICS_DISABLED or POWERTOOLS_DEV is set, and
 * adds 11 KB.
 */
export function embeddedMetrics(
  values: Measures,
  { namespace, at, dimensions, dashboard }: Context,
): Record<string, unknown> | undefined {
  const directives = (Object.keys(values) as MetricName[]).flatMap((name) => {
    if (!dashboard && DASHBOARD_ONLY.includes(name)) return [];
    const sets: readonly (readonly Dimension[])[] = METRICS[name].dimensions;
    const complete = sets.filter((set) => set.every((dimension) => dimensions[dimension]));
    if (!Number.isFinite(values[name]) || complete.length === 0) return [];
    return [{ Namespace: namespace, Dimensions: complete, Metrics: [{ Name: name, Unit: METRICS[name].unit }] }];
  });
  if (directives.length === 0) return undefined;
  const names = directives.flatMap(({ Metrics }) => Metrics.map(({ Name }) => [Name, values[Name]]));
  return { ...dimensions, ...Object.fromEntries(names), _aws: { Timestamp: at, CloudWatchMetrics: directives } };
}
