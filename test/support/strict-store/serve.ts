import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorXml, noSuchUpload, Refusal, refusalAnswer, xmlAnswer } from './answers.ts';
import { complete } from './complete.ts';
import { contentOf, rawBody, routed, withPauses } from './incoming.ts';
import { abort, create, listParts, uploadPart } from './multipart.ts';
import { get, list, put, remove, tag } from './objects.ts';
import { checkSignature } from './signature.ts';
import type { Answer, Call, Contents, Fault, Operation, Settings, Work } from './types.ts';

const DO: Record<Operation, (work: Work, contents: Contents, settings: Settings) => Answer> = {
  CreateMultipartUpload: create,
  UploadPart: uploadPart,
  ListParts: listParts,
  CompleteMultipartUpload: complete,
  AbortMultipartUpload: abort,
  PutObject: put,
  PutObjectTagging: tag,
  HeadObject: get,
  GetObject: get,
  ListObjectsV2: list,
  DeleteObject: remove,
};

/** One call from its first byte to its answer, or to what its fault makes of it. */
export async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  call: Call,
  contents: Contents,
  settings: Settings,
): Promise<void> {
  const fault = settings.faults(call);
  if (fault === 'reset') request.socket.resetAndDestroy();
  if (fault === 'reset' || fault === 'stall') return;
  if (hasKey(fault, 'resetAfter')) {
    resetAfter(request, fault.resetAfter);
    return;
  }
  const raw = await rawBody(hasKey(fault, 'pausesEvery') ? withPauses(request, fault) : request);
  if (raw === undefined) return;
  if (hasKey(fault, 'waitFor')) await fault.waitFor;
  const answer = answerTo(request, raw, fault, call, contents, settings);
  if (fault === 'lostAnswer') request.socket.resetAndDestroy();
  if (fault === 'lostAnswer' || fault === 'stallAnswer') return;
  call.status = answer.status;
  call.code = /<Code>(.*?)<\/Code>/.exec(String(answer.body ?? ''))?.[1];
  send(request, response, answer);
}

function hasKey<Name extends string>(
  fault: Fault | undefined,
  name: Name,
): fault is Extract<Fault, Record<Name, unknown>> {
  return typeof fault === 'object' && name in fault;
}

function resetAfter(request: IncomingMessage, limit: number): void {
  let read = 0;
  request.on('error', () => undefined);
  request.on('data', (chunk: Buffer) => {
    read += chunk.length;
    if (read >= limit) request.socket.resetAndDestroy();
  });
  request.on('end', () => request.socket.resetAndDestroy());
}

function answerTo(
  request: IncomingMessage,
  raw: Buffer,
  fault: Fault | undefined,
  call: Call,
  contents: Contents,
  settings: Settings,
): Answer {
  const { bucket, query } = routed(request);
  const id = query.get('uploadId') ?? '';
  try {
    checkSignature(request, settings);
    if (bucket !== settings.bucket) throw new Refusal(404, 'NoSuchBucket', 'The specified bucket does not exist');
    if (hasKey(fault, 'status')) return trouble(fault);
    if (hasKey(fault, 'errorIn200')) return lateError(fault.errorIn200);
    const content = contentOf(request, raw, settings);
    call.bytes = content.body.length;
    const work: Work = { request: call, query, ...content };
    // The CRC32 that came with it is dropped as well: it was right on the wire.
    if (fault === 'corrupt') Object.assign(work, { body: flipped(content.body), sentCrc32: undefined });
    const upload = contents.uploads.get(id);
    if (fault === 'conflict409' && upload) upload.dead = true;
    if (fault === 'conflict409' && !upload) throw new Refusal(409, 'ConditionalRequestConflict', 'conflict');
    const answer = DO[call.operation](work, contents, settings);
    if (fault === 'noSuchUploadAfterSuccess') throw noSuchUpload(id);
    return answer;
  } catch (error) {
    if (error instanceof Refusal) return refusalAnswer(error);
    throw error;
  }
}

function trouble({ status, code, headers = {} }: Extract<Fault, { status: number }>): Answer {
  return xmlAnswer(errorXml(code, 'This is a drill.'), status, headers);
}

/** S3 sends white space while it puts a large object together; only then does it know whether that worked. */
function lateError(code: string): Answer {
  const xml = errorXml(code, 'This is a drill.');
  const [declaration = '', rest = ''] = xml.split('\n');
  return xmlAnswer(`${declaration}\n\n  \n${rest}`);
}

function flipped(body: Buffer): Buffer {
  const copy = Buffer.from(body);
  const middle = copy.length >> 1;
  copy[middle] = (copy[middle] ?? 0) ^ 1;
  return copy;
}

function send(request: IncomingMessage, response: ServerResponse, { status, headers = {}, body = '' }: Answer): void {
  const withoutBody = request.method === 'HEAD' || status === 204;
  const length = status === 204 ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  response.writeHead(status, { 'x-amz-request-id': 'TESTREQUEST', ...headers, ...length });
  response.end(withoutBody ? undefined : body);
}
