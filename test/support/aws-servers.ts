import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { servedOnLoopback } from './loopback.ts';

/** Servers that answer like AWS, so that tests cover the SDK's own errors, streams and conditions. */

const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };

/**
 * Secrets Manager with these values. `trouble` may replace the answer to an operation by an error. `events` records
 * every operation that was done, as `GetSecretValue tokens`.
 */
export async function secretsManager(
  values: Record<string, string>,
  {
    events = [],
    trouble = () => undefined,
  }: { events?: string[]; trouble?: (operation: string) => string | undefined } = {},
) {
  const endpoint = await servedOnLoopback((request, body, response) => {
    const operation = String(request.headers['x-amz-target']).split('.')[1] ?? '';
    const { SecretId, SecretString } = JSON.parse(body.toString()) as { SecretId: string; SecretString?: string };
    const type = trouble(operation) ?? (SecretId in values ? undefined : 'ResourceNotFoundException');
    events.push(`${operation} ${SecretId}`);
    if (!type && operation === 'PutSecretValue') values[SecretId] = SecretString ?? '';
    const answer = type ? { __type: type, message: 'refused' } : { Name: SecretId, SecretString: values[SecretId] };
    response.writeHead(type ? 400 : 200, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify(answer));
  });
  const client = new SecretsManagerClient({
    endpoint,
    region: 'eu-west-1',
    credentials: CREDENTIALS,
    maxAttempts: 1,
  });
  return { client, values, events };
}

interface S3Request {
  operation: string;
  key: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
  part: number;
}

type Answer = (request: S3Request, response: ServerResponse) => unknown;

/** S3 with one bucket, `exports`: ranges, conditions, multipart uploads. `trouble` may handle an operation itself. */
export async function s3(
  trouble: (request: S3Request, response: ServerResponse) => boolean | undefined = () => undefined,
) {
  const objects = new Map<string, { body: Buffer; type: string }>();
  const parts = new Map<number, Buffer>();
  const operations: string[] = [];

  const complete: Answer = ({ key, body, headers, operation }, response) => {
    const standing = objects.get(key)?.body;
    const { 'if-none-match': none, 'if-match': match } = headers;
    if (match && !standing) return s3Error(response, 404, 'NoSuchKey');
    if ((none === '*' && standing) || (match && match !== etagOf(standing)))
      return s3Error(response, 412, 'PreconditionFailed');
    objects.set(key, { body, type: String(headers['content-type']) });
    response.setHeader('etag', etagOf(body) ?? '');
    return response.end(operation === 'PutObject' ? '' : xml('CompleteMultipartUploadResult', key));
  };
  const answers: Record<string, Answer> = {
    GetObject: ({ key, headers }, response) => get(objects.get(key)?.body, headers, response),
    PutObject: complete,
    CreateMultipartUpload: ({ key }, response) => response.end(xml('InitiateMultipartUploadResult', key)),
    UploadPart: ({ part, body }, response) => {
      parts.set(part, body);
      return response.writeHead(200, { etag: '"part"' }).end();
    },
    CompleteMultipartUpload: (request, response) => {
      const inOrder = [...parts].sort(([a], [b]) => a - b);
      return complete({ ...request, body: Buffer.concat(inOrder.map(([, bytes]) => bytes)) }, response);
    },
    AbortMultipartUpload: (_, response) => response.writeHead(204).end(),
  };

  const endpoint = await servedOnLoopback(({ url, method = '', headers }, body, response) => {
    const { pathname, searchParams } = new URL(url ?? '', 'http://s3');
    const key = decodeURIComponent(pathname).replace(/^\/exports\//, '');
    const operation = operationOf(method, searchParams);
    const request = { operation, key, headers, body, part: Number(searchParams.get('partNumber')) };
    operations.push(operation);
    if (!trouble(request, response)) answers[operation]?.(request, response);
  });
  const client = new S3Client({
    endpoint,
    region: 'eu-west-1',
    credentials: CREDENTIALS,
    forcePathStyle: true,
    maxAttempts: 1,
  });
  return { client, objects, operations };
}

export function s3Error(response: ServerResponse, status: number, code: string): ServerResponse {
  response.writeHead(status, { 'content-type': 'application/xml' });
  return response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>refused</Message></Error>`);
}

function operationOf(method: string, query: URLSearchParams): string {
  if (method === 'GET') return 'GetObject';
  if (method === 'DELETE') return 'AbortMultipartUpload';
  if (method === 'POST') return query.has('uploads') ? 'CreateMultipartUpload' : 'CompleteMultipartUpload';
  return query.has('partNumber') ? 'UploadPart' : 'PutObject';
}

function get(
  body: Buffer | undefined,
  { range, 'if-match': match }: S3Request['headers'],
  response: ServerResponse,
): ServerResponse {
  if (!body) return s3Error(response, 404, 'NoSuchKey');
  if (match && match !== etagOf(body)) return s3Error(response, 412, 'PreconditionFailed');
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? [];
  const start = Number(first ?? 0);
  if (first !== undefined && start >= body.length) return s3Error(response, 416, 'InvalidRange');
  const part = body.subarray(start, last ? Number(last) + 1 : undefined);
  response.writeHead(first === undefined ? 200 : 206, { etag: etagOf(body), 'content-length': String(part.length) });
  return response.end(part);
}

function etagOf(body: Buffer | undefined): string | undefined {
  return body && `"${createHash('md5').update(body).digest('hex')}"`;
}

function xml(name: string, key: string): string {
  return `<?xml version="1.0"?><${name}><Bucket>exports</Bucket><Key>${key}</Key><UploadId>upload-1</UploadId></${name}>`;
}
