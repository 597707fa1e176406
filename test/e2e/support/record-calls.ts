import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { join } from 'node:path';

/**
 * Loaded into every function before its code: notes which calls of AWS it makes, beside this file. Nothing of what they carry
 * but names of resources: of a body the secret's or table's name, of a path the key, of a query its words without values, but
 * for the prefix of a listing.
 */

/** One call; each kind of call is written once per process. `status` 0: there was no answer. */
export interface RecordedCall {
  function: string;
  method: string;
  path: string;
  query: string[];
  /** What the keys of a listing begin with. */
  prefix: string;
  target: string;
  /** Which variable of the function's environment named the resource, or the name itself. */
  names: string[];
  encryption: Record<string, string>;
  status: number;
}

const FILE = join(import.meta.dirname, 'calls.jsonl');
const { AWS_LAMBDA_FUNCTION_NAME: functionName, AWS_ENDPOINT_URL: endpoint, BUCKET_NAME: bucket } = process.env;
const written = new Set<string>();
const bodies = new WeakMap<ClientRequest, string[]>();

/** The name of the variable that holds a value, in braces. */
function variableOf(value: string): string {
  const found = Object.entries(process.env).find(
    ([name, held]) => /_(ID|TABLE|NAME|URL|ARN)$/.test(name) && held === value,
  );
  return found ? `{${found[0]}}` : value;
}

function isOurs(request: ClientRequest): boolean {
  return endpoint !== undefined && request.getHeader('host') === new URL(endpoint).host;
}

/** The bodies of calls that name their resource there are kept until they are sent. */
function keepBody(request: ClientRequest): void {
  const parts: string[] = [];
  bodies.set(request, parts);
  for (const method of ['write', 'end'] as const) {
    const original = request[method].bind(request) as (...args: unknown[]) => never;
    request[method] = (...args: unknown[]) => {
      if (typeof args[0] === 'string' || args[0] instanceof Uint8Array) parts.push(Buffer.from(args[0]).toString());
      return original(...args);
    };
  }
}

/** What a call says in its body: JSON, or the query that SNS takes. */
function bodyOf(request: ClientRequest): Record<string, unknown> {
  const text = bodies.get(request)?.join('') ?? '';
  return text.startsWith('{') ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
}

/** SNS has the name of the operation in the body. */
function targetOf(request: ClientRequest): string {
  const header = request.getHeader('x-amz-target');
  if (header !== undefined || request.path !== '/') return String(header ?? '');
  return `SNS.${bodyOf(request).Action}`;
}

function namesIn(request: ClientRequest): string[] {
  const { SecretId, TableName, QueueUrl, TopicArn } = bodyOf(request);
  return [SecretId, TableName, QueueUrl, TopicArn].filter((name) => typeof name === 'string').map(variableOf);
}

function note(request: ClientRequest, status: number): void {
  if (!isOurs(request)) return;
  const url = new URL(request.path, endpoint);
  const encryption = Object.entries(request.getHeaders()).filter(([name]) => /server-side-encryption/.test(name));
  const call: RecordedCall = {
    function: functionName?.split('-').at(-1) ?? '',
    method: request.method,
    path: bucket ? url.pathname.replace(bucket, '{BUCKET_NAME}') : url.pathname,
    query: [...new Set(url.searchParams.keys())].toSorted(),
    prefix: url.searchParams.get('prefix') ?? '',
    target: targetOf(request),
    names: namesIn(request),
    encryption: Object.fromEntries(encryption.map(([name, value]) => [name, String(value)])),
    status,
  };
  const line = `${JSON.stringify(call)}\n`;
  if (written.has(line)) return;
  written.add(line);
  appendFileSync(FILE, line);
}

if (functionName) {
  subscribe('http.client.request.created', (message) => {
    const { request } = message as { request: ClientRequest };
    if (request.path === '/' && isOurs(request)) keepBody(request);
  });
  subscribe('http.client.response.finish', (message) => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
    note(request, response.statusCode ?? 0);
  });
  subscribe('http.client.request.error', (message) => note((message as { request: ClientRequest }).request, 0));
}
