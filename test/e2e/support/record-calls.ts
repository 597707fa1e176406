import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';

/**
 * Loaded into every function before its code: records the function's AWS calls in files beside this one. It records
 * only names of resources: the secret or table in a body, the key in a path, and the words of a query without their
 * values, except for the prefix of a listing.
 */

/** One call. Each process writes each kind of call once. `status` 0: there was no answer. */
export interface RecordedCall {
  function: string;
  method: string;
  path: string;
  query: string[];
  prefix: string;
  target: string;
  /** The environment variables of the function with the name of the resource, or the name itself. */
  names: string[];
  encryption: Record<string, string>;
  /** The object is stored with tags. */
  tagged: boolean;
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

/** Compares the port only: a queue's address has the host name where the endpoint may have an IP address. */
function isOurs(request: ClientRequest): boolean {
  return endpoint !== undefined && String(request.getHeader('host')).split(':')[1] === new URL(endpoint).port;
}

/** Keeps the body until it is sent, for calls that name their resource there. */
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

/** The fields of a body: JSON, or the query format of SNS. */
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
    tagged: request.hasHeader('x-amz-tagging'),
    status,
  };
  const line = `${JSON.stringify(call)}\n`;
  if (written.has(line)) return;
  written.add(line);
  appendFileSync(FILE, line);
}

if (functionName) {
  delete process.env.NODE_COMPILE_CACHE;
  delete process.env.NODE_COMPILE_CACHE_PORTABLE;
  // Processes are killed, so none would write its compiled code at its end.
  setTimeout(flushCompileCache, 2_000).unref();
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
