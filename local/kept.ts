import type { FinishedRun } from './runs.ts';
import type { Screen } from './screen.ts';
import type { Session } from './session.ts';

/** How to use what `--keep` left running. */
export const kept = {
  endpoints: ({ cloud, crm }: Session) => ({ aws: cloud.endpoint, crm: crm.url, auth: crm.authUrl }),

  /** Prints the endpoints and commands to paste into another terminal. */
  show(screen: Screen, session: Session, runs: FinishedRun[]): void {
    const { cloud, crm, target, configurationFile } = session;
    const arn = runs[0]?.report.executionArn ?? 'ARN';
    for (const line of [
      'Everything is left running; Ctrl-C ends it.',
      `  AWS: ${cloud.endpoint}   CRM: ${crm.url}   OAuth: ${crm.authUrl}`,
      '',
      'In another terminal, start a run and follow it:',
      `  npm run cli -- start leads --wait --deployment local --endpoint-url ${cloud.endpoint}`,
      'Authorize anew:',
      `  npm run cli -- authorize --deployment local --configuration ${configurationFile} --endpoint-url ${cloud.endpoint}`,
      'With the AWS CLI:',
      `  export AWS_ENDPOINT_URL=${cloud.endpoint} AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=000000000000 AWS_SECRET_ACCESS_KEY=local`,
      `  aws stepfunctions start-execution --state-machine-arn ${target.StateMachineArn} --input '{"entity":"leads"}'`,
      `  aws stepfunctions get-execution-history --execution-arn ${arn}`,
      `  aws s3 ls s3://${target.BucketName} --recursive`,
    ]) {
      screen.line(line);
    }
  },
};
