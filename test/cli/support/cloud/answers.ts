import type { ServerResponse } from 'node:http';
import type { Call } from './call.ts';

/** Does to the connection what it likes. */
export class Reply {
  readonly send: (response: ServerResponse, call: Call) => unknown;

  constructor(send: Reply['send']) {
    this.send = send;
  }
}

/** A document, a reply, or `undefined`: another may answer. */
export type Answer = object | undefined;
/** @param next what the parts behind this one answer; it is asked of them by this call alone */
export type Handler = (call: Call, next: () => Promise<Answer>) => Answer | Promise<Answer>;

/**
 * Answers by operation and key (`GetObject runs/leads.csv`), by operation, by service, or to `*`: to everything but
 * CloudFormation, by which a deployment is found.
 */
export type Answers = Record<string, Answer | Handler>;

/** What the first that has an answer says. */
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

/** An error in the words of the service that is asked. @param more what a document says besides */
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

/** The answer never comes. */
export const silent = new Reply(() => undefined);

/** What is asked for is done, and the connection breaks before the answer. */
export const lost: Handler = async (_, next) => {
  await next();
  return new Reply((response) => response.destroy());
};

/** An object that breaks off behind so many bytes of what was requested. */
export function brokenOff(body: Buffer, bytes: number): Reply {
  return new Reply((response, { headers }) => {
    const from = Number(/^bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0);
    response.writeHead(headers.range ? 206 : 200, { 'content-length': body.length - from });
    response.write(body.subarray(from, from + bytes), () => response.destroy());
  });
}

/**
 * A fault: from this call of an operation on (of a service, of all), for so many times, this in the place of the answer.
 * Faults stand before the parts that they disturb.
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

/** Operations for which the rights are lacking. */
export function denied(...operations: string[]): Answers {
  return Object.fromEntries(operations.map((operation) => [operation, refused('AccessDeniedException', 'no')]));
}

/** A bucket that answers this to everything. */
export const bucketRefuses = (code: string, status: number) => fault('s3', refused(code, 'refused', { status }));
