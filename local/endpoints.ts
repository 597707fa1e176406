import { quoted } from '../cli/support/command-options.ts';
import { CRM_EXPORT } from '../core/commands.ts';
import { LOCAL_DEPLOYMENT } from './configuration.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from './ministack/ministack-environment.ts';
import type { FinishedRun } from './runs.ts';
import type { Session } from './session.ts';

/** The endpoints of a local cloud that `--keep` leaves running. */
export function endpointsOf({ cloud, crm }: Session) {
  return { aws: cloud.endpoint, crm: crm.url, auth: crm.authUrl };
}

/** What the lines name of a session. */
interface Running {
  cloud: { endpoint: string };
  crm: { url: string; authUrl: string };
  target: { StateMachineArn: string; BucketName: string };
  sandbox: { url: string } | undefined;
  updates: boolean;
  configurationFile: string;
}

/** The endpoints, and commands to paste into another terminal. */
export function endpointLines(running: Running, runs: FinishedRun[]): string[] {
  const { cloud, crm, target, sandbox, updates, configurationFile } = running;
  const arn = runs[0]?.report.executionArn ?? 'ARN';
  const place = `--deployment ${LOCAL_DEPLOYMENT} --region ${LOCAL_REGION} --endpoint-url ${cloud.endpoint}`;
  return [
    'Everything is left running; Ctrl-C ends it.',
    `  AWS: ${cloud.endpoint}   CRM: ${crm.url}   OAuth: ${crm.authUrl}`,
    '',
    'In another terminal, start a run and follow it:',
    `  ${CRM_EXPORT} start leads --wait ${place}`,
    ...(sandbox ? faultLines(`${sandbox.url}/_sandbox/faults`) : []),
    'See what a run did, all nights as a page, and whether the next run would work:',
    `  ${CRM_EXPORT} show leads ${place}`,
    `  ${CRM_EXPORT} report ${place}`,
    `  ${CRM_EXPORT} doctor --configuration ${quoted(configurationFile)} ${place}`,
    'Compare what the CRM answers with what is assumed (docs/operating.md, "First contact"):',
    `  ${CRM_EXPORT} probe --configuration ${quoted(configurationFile)} ${place}`,
    ...(updates ? ['Update customers by a file (docs/updates.md):', `  ${CRM_EXPORT} update FILE.csv ${place}`] : []),
    'Authorize again:',
    `  ${CRM_EXPORT} authorize ${place}`,
    'With the AWS CLI:',
    `  export AWS_ENDPOINT_URL=${cloud.endpoint} AWS_DEFAULT_REGION=${LOCAL_REGION} AWS_ACCESS_KEY_ID=${LOCAL_ACCOUNT} AWS_SECRET_ACCESS_KEY=local`,
    `  aws stepfunctions start-execution --state-machine-arn ${target.StateMachineArn} --input '{"entity":"leads"}'`,
    `  aws stepfunctions get-execution-history --execution-arn ${arn}`,
    `  aws s3 ls s3://${target.BucketName} --recursive`,
  ];
}

function faultLines(url: string): string[] {
  const fault = { path: 'status', entity: 'leads', calls: [1, 2], answer: { status: 503 } };
  return [
    'Make the next two status checks of leads fail, and end all faults (sandbox/README.md has more):',
    `  curl ${url} --json '${JSON.stringify(fault)}'`,
    `  curl -X DELETE ${url}`,
  ];
}
