import { GetMetricDataCommand, type MetricDataQuery } from '@aws-sdk/client-cloudwatch';
import type { Check } from '../../checks/check.ts';
import { CannotTell, type Finding, holdsUnless } from '../../checks/finding.ts';
import { plain } from '../../support/text.ts';
import type { Verifying } from '../base/verifying.ts';
import { DASHBOARD_RIGHTS, dashboardWidgets, type GraphLine } from './watched-metrics.ts';

/** CloudWatch draws nothing where an expression is wrong, and says so to whoever looks at the graph only. */
export const DASHBOARD_CHECK: Check<Verifying> = {
  id: 'dashboard',
  question: 'Does every expression of the dashboard evaluate?',
  rights: [...DASHBOARD_RIGHTS, 'cloudwatch:GetMetricData on `*`: AWS knows no resource for it'],
  look: evaluate,
};

const DAYS = 14;
const DAY_MS = 86_400_000;

async function evaluate(verifying: Verifying): Promise<Finding> {
  const widgets = await dashboardWidgets(verifying);
  if (!widgets) throw new CannotTell('the deployment has no dashboard');
  const wrong: string[] = [];
  let expressions = 0;
  for (const { title, lines } of widgets) {
    const count = lines.filter(({ options }) => options.expression).length;
    if (count === 0) continue;
    expressions += count;
    const problem = await problemOf(verifying, lines);
    if (problem) wrong.push(`"${title}": ${plain(problem)}`);
  }
  return holdsUnless(wrong, `all ${expressions} evaluate`, 'CloudWatch should evaluate each: deploy again.');
}

async function problemOf({ target: { cloudwatch } }: Verifying, lines: GraphLine[]): Promise<string | undefined> {
  const EndTime = new Date();
  const StartTime = new Date(EndTime.getTime() - DAYS * DAY_MS);
  const asked = new GetMetricDataCommand({ MetricDataQueries: lines.map(queryOf), StartTime, EndTime });
  const answer = await cloudwatch.send(asked).catch((error: unknown) => {
    if (error instanceof Error && /^Validation/.test(error.name)) return error;
    throw error;
  });
  if (answer instanceof Error) return answer.message;
  // https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataResult.html
  const failed = answer.MetricDataResults?.find(({ StatusCode }) =>
    /^(InternalError|Forbidden)$/.test(StatusCode ?? ''),
  );
  if (!failed) return undefined;
  const said = failed.Messages?.map(({ Value }) => Value).join(', ');
  throw new CannotTell(`CloudWatch did not evaluate (${[failed.StatusCode, said].filter(Boolean).join(': ')})`);
}

function queryOf({ metric, options }: GraphLine, index: number): MetricDataQuery {
  const { id = `line${index}`, expression, stat = 'Average', period = 300 } = options;
  if (!metric) return { Id: id, Expression: expression, Period: period };
  return { Id: id, MetricStat: { Metric: metric, Period: period, Stat: stat }, ReturnData: false };
}
