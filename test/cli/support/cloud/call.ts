import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import * as z from 'zod';
import { routed } from '../../../support/strict-store/incoming.ts';

/** A call to AWS: an operation of a service, with its input. */
export interface Call {
  /** The service name in the signature: `states`, `s3`, `monitoring`. */
  service: string;
  operation: string;
  /** The JSON document, the form parameters, or the query of S3. */
  input: Record<string, unknown>;
  /** The bucket and the object of a call to S3 ('' for the bucket itself). */
  bucket: string;
  key: string;
  method: string | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

const inputSchema = z.record(z.string(), z.unknown());

export function callOf(request: IncomingMessage, body: Buffer): Call {
  const { headers, method } = request;
  const service = /\/([a-z0-9]+)\/aws4_request/.exec(headers.authorization ?? '')?.[1] ?? 's3';
  const call = { service, bucket: '', key: '', method, headers, body };
  const target = headers['x-amz-target'];
  if (typeof target === 'string') {
    return { ...call, operation: target.split('.')[1] ?? '', input: inputSchema.parse(JSON.parse(body.toString())) };
  }
  if (service === 's3') {
    const { bucket, key, query, operation = '' } = routed(request);
    return { ...call, bucket, key, operation, input: Object.fromEntries(query) };
  }
  const input = Object.fromEntries(new URLSearchParams(body.toString()));
  return { ...call, operation: input.Action ?? '', input };
}

/** A call as one line: `StartExecution`, `GetObject runs/leads.csv bytes=100-`. */
export function lineOf({ operation, key, headers }: Call): string {
  return [operation, key, headers.range].filter(Boolean).join(' ');
}
