import { ERRORS } from '../../../core/errors.ts';
import { STEPS } from '../../../core/step/steps.ts';
import type { Target } from '../../support/target.ts';

/** A local cloud has no console, only an address. */
export interface Links {
  execution: string | null;
  /** The address of each step's log group. */
  logGroups: Record<string, string>;
  endpoint: string | null;
}

/** @param endpoint of the local cloud, if it is one */
export function linksOf(
  { downloadLogGroup }: Pick<Target, 'downloadLogGroup'>,
  executionArn: string | null,
  machineArn: string,
  endpoint: string | undefined,
): Links {
  if (endpoint) return { execution: null, logGroups: {}, endpoint };
  const [, partition = 'aws', , region = ''] = machineArn.split(':');
  const console = `https://${region}.${HOSTS[partition] ?? HOSTS.aws}`;
  const group = (step: string) => encodeURIComponent(downloadLogGroup.replace(/DownloadFile$/, step));
  // The console wants the name of the group encoded, and each percent sign again, with a dollar.
  const logs = (step: string) =>
    `${console}/cloudwatch/home?region=${region}#logsV2:log-groups/log-group/${group(step).replaceAll('%', '$25')}`;
  return {
    execution: executionArn && `${console}/states/home?region=${region}#/v2/executions/details/${executionArn}`,
    logGroups: Object.fromEntries(Object.keys(STEPS).map((step) => [step, logs(step)])),
    endpoint: null,
  };
}

const HOSTS: Record<string, string> = {
  aws: 'console.aws.amazon.com',
  'aws-cn': 'console.amazonaws.cn',
  'aws-us-gov': 'console.amazonaws-us-gov.com',
};

/** Entries of the runbook for ends that are no error of ours. */
const BY_STATUS: Record<string, string> = {
  FAILED: 'AnotherError',
  TIMED_OUT: 'TimedOut',
  ABORTED: 'ExecutionsAborted',
};

/** The entry of the runbook for the end of a run; `null` unless it failed. */
export function runbookEntry(error: string | null, status: string): string | null {
  const name = error !== null && Object.hasOwn(ERRORS, error) ? error : BY_STATUS[status];
  return name === undefined ? null : `docs/runbook.md#${name.toLowerCase()}`;
}
