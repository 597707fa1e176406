import { ENTITIES } from '../core/config/entities.ts';
import { METRICS } from '../core/log/metrics.ts';
import type { Usage } from './cost.ts';
import { HOURS_A_MONTH, NIGHTS_A_MONTH, PRICE } from './support/prices.ts';

/** What a night of all entities used, and what the deployment holds. */
export interface Night {
  /** One for each entity. */
  runs: Usage[];
  logBytes: number;
  alarms: number;
}

export interface CostLine {
  what: string;
  /** Of one night with every entity once, from the counts. */
  counted: string;
  /** Dollars a month for one deployment that runs each night. */
  dollars: number;
}

/** What seven runs a night cost in a month: first what grows with the runs, then what a deployment costs standing still. */
export function costLines({ runs, logBytes, alarms }: Night): { runs: CostLine[]; standing: CostLine[] } {
  const sum = (field: keyof Usage) => runs.reduce((total, usage) => total + usage[field], 0);
  const [transitions, invocations, gbSeconds] = [sum('transitions'), sum('invocations'), sum('gbSeconds')];
  const stored = sum('storeRequests');
  // An upper bound each: every request to the bucket uses the key once, every function reads two secrets and the ledger.
  const secretReads = 2 * 3 * runs.length;
  const traces = invocations + runs.length;
  const nightly = (what: string, counted: string, nightlyDollars: number) => {
    return { what, counted, dollars: nightlyDollars * NIGHTS_A_MONTH };
  };
  const compute = gbSeconds * PRICE.gbSecond + invocations * PRICE.invocation;
  return {
    runs: [
      nightly('Step Functions', `${transitions} transitions`, transitions * PRICE.transition),
      nightly('Lambda', `${gbSeconds.toFixed(1)} GB-s, ${invocations} invocations`, compute),
      nightly('S3', `${stored} requests`, stored * PRICE.storeRequest),
      nightly('CloudWatch Logs', `${(logBytes / 1000).toFixed(0)} KB`, (logBytes / 1e9) * PRICE.logGigabyte),
      nightly('X-Ray', `at most ${traces} traces`, traces * PRICE.trace),
      nightly('KMS', `at most ${stored + secretReads} requests`, (stored + secretReads) * PRICE.kmsRequest),
      nightly('Secrets Manager', `at most ${secretReads} requests`, secretReads * PRICE.secretRequest),
    ],
    standing: standing(alarms),
  };
}

function standing(alarms: number): CostLine[] {
  const metrics = metricsOfAGoodNight();
  // A metric is paid for by the hour in which it has data: one hour a night.
  const metricHours = (metrics * NIGHTS_A_MONTH) / HOURS_A_MONTH;
  return [
    { what: 'CloudWatch dashboard', counted: '1', dollars: PRICE.dashboard },
    { what: 'CloudWatch alarms', counted: `${alarms}`, dollars: alarms * PRICE.alarm },
    { what: 'KMS key', counted: '1, before its first rotation', dollars: PRICE.key },
    { what: 'Secrets', counted: '2', dollars: 2 * PRICE.secret },
    { what: 'CloudWatch metrics', counted: `${metrics}, an hour a night`, dollars: metricHours * PRICE.metric },
  ];
}

/** Combinations of name and dimensions that a night without errors emits. */
function metricsOfAGoodNight(): number {
  const ofTrouble = ['FileWarnings', 'GrantRotatedButNotStored', 'TokenEndpointUnanswered'];
  const sets = Object.entries(METRICS).filter(([name]) => !ofTrouble.includes(name));
  return sets
    .flatMap(([, { dimensions }]) => [...dimensions] as readonly (readonly string[])[])
    .reduce((count, dimensions) => count + (dimensions.includes('entity') ? ENTITIES.length : 1), 0);
}

export function total(lines: CostLine[]): number {
  return lines.reduce((sum, { dollars }) => sum + dollars, 0);
}
