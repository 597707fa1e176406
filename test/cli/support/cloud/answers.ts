import type { ServerResponse } from 'node:http';
import type { Call } from './call.ts';

/** A reply that handles the connection itself. */
export class Reply {
  readonly send: (response: ServerResponse, call: Call) => unknown;

  constructor(send: Reply['send']) {
    this.send = send;
  }
}

/** A document, a reply, or `undefined` to let another part answer. */
export type Answer = object | undefined;
/** @param next asks the parts after this one; the handler alone decides to call it */
export type Handler = (call: Call, next: () => Promise<Answer>) => Answer | Promise<Answer>;

/**
 * Answers by operation and key (`GetObject runs/leads.csv`), by operation, by service, or by `*` for every service but
 * CloudFormation, which finds a deployment.
 */
export type Answers = Record<string, Answer | Handler>;

export async function answerOf(call: Call, [first, ...others]: Answers[]): Promise<Answer> {
  if (!first) return refused('UnknownOperationException', `No part of this cloud answers ${call.operation}.`);
  const next = () => answerOf(call, others);
  const { operation, service, key } = call;
  const rest = service === 'cloudformation' ? undefined : first['*'];
  const given = first[`${operation} ${key}`] ?? first[operation] ?? first[service] ?? rest;
  const answer = typeof given === 'function' ? await given(call, next) : given;
  return answer ?? next();
}

export function send(response: ServerResponse, call: Call, answer: Answer): void {
  if (answer instanceof Reply) answer.send(response, call);
  else response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(answer));
}

export function xml(body: string): Reply {
  return new Reply((response) => response.writeHead(200, { 'content-type': 'text/xml' }).end(body));
}

/** An error in the format of the service. @param more other fields of the document */
export function refused(
  code: string,
  message = 'refused',
  { status = 400, ...more }: { status?: number; [field: string]: unknown } = {},
) {
  return new Reply((response, call) => {
    const inXml = call.service === 's3' || 'Action' in call.input;
    const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error>`;
    const body = call.service === 's3' ? error : `<ErrorResponse>${error}</ErrorResponse>`;
    const type = inXml ? 'application/xml' : 'application/x-amz-json-1.0';
    const text = inXml ? body : JSON.stringify({ __type: code, message, ...more });
    response.writeHead(status, { 'content-type': type }).end(text);
  });
}

export const silent = new Reply(() => undefined);

/** Carries the call out and breaks the connection before the answer. */
export const lost: Handler = async (_, next) => {
  await next();
  return new Reply((response) => response.destroy());
};

/** An object that breaks off after that many bytes of the requested range. */
export function brokenOff(body: Buffer, bytes: number): Reply {
  return new Reply((response, { headers }) => {
    const from = Number(/^bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0);
    response.writeHead(headers.range ? 206 : 200, { 'content-length': body.length - from });
    response.write(body.subarray(from, from + bytes), () => response.destroy());
  });
}

/**
 * A fault: replaces the answers of an operation, a service or all services, from call number `from` on, `times` times.
 * Write faults before the parts that they disturb.
 */
export function fault(
  operation: string,
  trouble: Answer | Handler,
  { from = 1, times = Number.POSITIVE_INFINITY } = {},
) {
  let calls = 0;
  const handler: Handler = (call, next) => {
    calls += 1;
    if (calls < from || calls >= from + times) return undefined;
    return typeof trouble === 'function' ? trouble(call, next) : trouble;
  };
  return { [operation]: handler };
}

export function denied(...operations: string[]): Answers {
  return Object.fromEntries(operations.map((operation) => [operation, refused('AccessDeniedException', 'no')]));
}

/** A bucket that gives this answer to every call. */
export const bucketRefuses = (code: string, status: number) => fault('s3', refused(code, 'refused', { status }));
