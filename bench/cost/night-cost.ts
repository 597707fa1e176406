import { NIGHTS_A_MONTH, PRICE } from './prices.ts';

/** What one run used of what AWS counts. */
export interface Usage {
  /** States that were entered. */
  transitions: number;
  invocations: number;
  gbSeconds: number;
  /** Calls of the CRM, requests for the file, requests to the bucket. */
  crmRequests: number;
  fileRequests: number;
  storeRequests: number;
  bytes: number;
}

/** What a night of all entities used. */
export interface Night {
  /** The usage of one run of each entity. */
  runs: Usage[];
  logBytes: number;
}

export interface CostLine {
  what: string;
  /** How much a night uses that runs every entity once. */
  counted: string;
  /** Dollars a month for one deployment that runs each night. */
  dollars: number;
}

/** What the runs of a deployment cost in a month. */
export function costOfRuns({ runs, logBytes }: Night): CostLine[] {
  const sum = (field: keyof Usage) => runs.reduce((total, usage) => total + usage[field], 0);
  const transitions = sum('transitions');
  const invocations = sum('invocations');
  const gbSeconds = sum('gbSeconds');
  const stored = sum('storeRequests');
  // An upper bound each: every request to the bucket uses the key once, every function reads two secrets and the ledger.
  const secretReads = 2 * 3 * runs.length;
  const traces = invocations + runs.length;
  const nightly = (what: string, counted: string, nightlyDollars: number) => {
    return { what, counted, dollars: nightlyDollars * NIGHTS_A_MONTH };
  };
  const compute = gbSeconds * PRICE.gbSecond + invocations * PRICE.invocation;
  return [
    nightly('Step Functions', `${transitions} transitions`, transitions * PRICE.transition),
    nightly('Lambda', `${gbSeconds.toFixed(1)} GB-s, ${invocations} invocations`, compute),
    nightly('S3', `${stored} requests`, stored * PRICE.storeRequest),
    nightly('CloudWatch Logs', `${(logBytes / 1000).toFixed(0)} KB`, (logBytes / 1e9) * PRICE.logGigabyte),
    nightly('X-Ray', `at most ${traces} traces`, traces * PRICE.trace),
    nightly('KMS', `at most ${stored + secretReads} requests`, (stored + secretReads) * PRICE.kmsRequest),
    nightly('Secrets Manager', `at most ${secretReads} requests`, secretReads * PRICE.secretRequest),
  ];
}

function total(lines: CostLine[]): number {
  return lines.reduce((sum, { dollars }) => sum + dollars, 0);
}

/** A table of costs: each line, and their sum, as often as each column says. */
export function costTable(first: string, lines: CostLine[], columns: { head: string; times: number }[]): string {
  const row = ({ what, counted, dollars }: CostLine) =>
    `| ${what} | ${counted} | ${columns.map(({ times }) => dollarsText(dollars * times)).join(' | ')} |`;
  return [
    `| ${first} | counted | ${columns.map(({ head }) => head).join(' | ')} |`,
    `| --- | --- | ${columns.map(() => '---:').join(' | ')} |`,
    ...lines.map(row),
    row({ what: '**Together**', counted: '', dollars: total(lines) }),
  ].join('\n');
}

function dollarsText(value: number): string {
  return `$${value < 10 ? value.toFixed(3) : Math.round(value).toLocaleString('en')}`;
}
