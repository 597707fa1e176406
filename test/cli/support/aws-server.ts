import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SFNClient } from '@aws-sdk/client-sfn';
import { onTestFinished } from 'vitest';
import * as z from 'zod';

/** What was asked of the server: the operation, its input, and who signed. */
export interface Call {
  operation: string;
  input: Record<string, unknown>;
  authorization: string;
}

/** What to answer: an object, or an error by its name. */
type Answer = { error: string; message?: string; status?: number; more?: object } | { output: object };

export interface AwsServer {
  endpoint: string;
  calls: Call[];
}

const inputSchema = z.record(z.string(), z.unknown());

/** A server on loopback that speaks the JSON protocol of AWS (`X-Amz-Target`), for the length of a test. */
export async function jsonServer(answer: (call: Call) => Answer): Promise<AwsServer> {
  const calls: Call[] = [];
  const endpoint = await serve(async (request) => {
    const call = await callOf(request);
    calls.push(call);
    return replyOf(answer(call));
  });
  return { endpoint, calls };
}

async function callOf(request: IncomingMessage): Promise<Call> {
  const operation = String(request.headers['x-amz-target']).split('.')[1] ?? '';
  const input = inputSchema.parse(JSON.parse(await bodyOf(request)));
  return { operation, input, authorization: request.headers.authorization ?? '' };
}

function replyOf(answered: Answer): Reply {
  const type = 'application/x-amz-json-1.1';
  if ('output' in answered) return { status: 200, type, body: JSON.stringify(answered.output) };
  const { error, message = '', status = 400, more } = answered;
  return { status, type, body: JSON.stringify({ __type: error, message, ...more }) };
}

export interface Reply {
  status: number;
  type?: string;
  body?: string | Uint8Array;
}

/** Serves until the end of the test. */
export async function serve(reply: (request: IncomingMessage) => Reply | Promise<Reply>): Promise<string> {
  const server = createServer(async (request, response) => {
    const { status, type = 'application/xml', body = '' } = await reply(request);
    response.writeHead(status, { 'content-type': type }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
const settings = { region: 'us-east-1', credentials, maxAttempts: 1 };
export const sfnAt = (endpoint: string) => new SFNClient({ ...settings, endpoint });

/** What the stack of a deployment says of itself, in the tests of commands. */
export const OUTPUTS = {
  StateMachineArn: 'arn:aws:states:us-east-1:000000000000:stateMachine:crm-export-prod-ExportRun',
  ...{ BucketName: 'bucket', ClientSecretId: 'arn:client', TokensSecretId: 'arn:tokens', LedgerTableName: 'ledger' },
};
export const RUN_ARNS = OUTPUTS.StateMachineArn.replace(':stateMachine:', ':execution:');

/** CloudFormation's answer about a stack with these outputs. */
export function stackReply(outputs: Record<string, string>, status = 'UPDATE_COMPLETE'): Reply {
  const members = Object.entries(outputs).map(
    ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
  );
  const body = `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>s</StackName><StackStatus>${status}</StackStatus>
    <CreationTime>2026-11-20T00:00:00Z</CreationTime><Outputs>${members.join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
  return { status: 200, type: 'text/xml', body };
}

/** An error in the words of the services that speak XML. */
export function xmlError(status: number, code: string, message: string): Reply {
  const body = `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`;
  return { status, type: 'text/xml', body };
}

/** An AWS with one deployment, `prod`; what its services that speak JSON answer is given. */
export async function deploymentServer(
  answer: (call: Call) => Answer,
  describeStacks: Reply = stackReply(OUTPUTS),
): Promise<AwsServer> {
  const calls: Call[] = [];
  const endpoint = await serve(async (request) => {
    if (request.headers['x-amz-target'] === undefined) return describeStacks;
    const call = await callOf(request);
    calls.push(call);
    return replyOf(answer(call));
  });
  return { endpoint, calls };
}
