import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

const MACHINE = 'arn:aws:states:us-east-1:000000000000:stateMachine:crm-export-local-ExportRun';
const OUTPUTS = {
  StateMachineArn: MACHINE,
  BucketName: 'bucket',
  TimeZone: 'UTC',
  ClientSecretId: 'client',
  TokensSecretId: 'tokens',
  LedgerTableName: 'ledger',
};
const RUNS = 7;
const HOUR_S = 3600;

/** An AWS on loopback that answers at once: a stack of this release with seven runs that failed today, and an empty bucket. */
export async function startListCloud(): Promise<{ endpoint: string; close: () => void }> {
  const server = createServer(async (request, response) => {
    const { status = 200, type, body } = answerTo(request, await text(request));
    response.writeHead(status, { 'content-type': type }).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

function answerTo({ method, url = '', headers }: IncomingMessage, body: string) {
  const [, operation] = String(headers['x-amz-target'] ?? '').split('.');
  if (operation === 'ListExecutions') return json({ executions: Array.from({ length: RUNS }, (_, n) => run(n)) });
  if (operation === 'DescribeExecution') return json({ ...run(0), ...JSON.parse(body), input: '{"entity":"leads"}' });
  if (method === 'POST') return xml(stackXml());
  if (url.includes('list-type=2')) return xml('<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>');
  return { ...xml('<Error><Code>NoSuchKey</Code></Error>'), status: 404 };
}

function run(number: number) {
  const name = `leads-${number}`;
  const startDate = Math.round(Date.now() / 1000) - (number + 1) * HOUR_S;
  const executionArn = `${MACHINE.replace(':stateMachine:', ':execution:')}:${name}`;
  return { executionArn, stateMachineArn: MACHINE, name, status: 'FAILED', startDate, stopDate: startDate + 60 };
}

function stackXml(): string {
  const outputs = Object.entries(OUTPUTS).map(
    ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
  );
  return `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>${outputs.join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
}

const json = (output: object) => ({ status: 200, type: 'application/x-amz-json-1.0', body: JSON.stringify(output) });
const xml = (body: string) => ({ status: 200, type: 'text/xml', body });
