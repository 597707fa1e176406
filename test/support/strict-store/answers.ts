import type { Answer } from './types.ts';

/** An error response of S3. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, string>;

  constructor(status: number, code: string, message: string, details: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export function noSuchUpload(uploadId: string): Refusal {
  const message =
    'The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.';
  return new Refusal(404, 'NoSuchUpload', message, { UploadId: uploadId });
}

export function invalidPart(uploadId: string, partNumber: number, etag: string): Refusal {
  const message =
    "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.";
  return new Refusal(400, 'InvalidPart', message, { UploadId: uploadId, PartNumber: String(partNumber), ETag: etag });
}

export function conflict(key: string): Refusal {
  const message = 'The conditional request cannot succeed due to a conflicting operation against this resource.';
  return new Refusal(409, 'ConditionalRequestConflict', message, { Condition: 'If-None-Match', Key: key });
}

export function errorXml(code: string, message: string, details: Record<string, string> = {}): string {
  return document('Error', { Code: code, Message: message, ...details, RequestId: 'TESTREQUEST', HostId: 'test' }, '');
}

export function refusalAnswer({ status, code, message, details }: Refusal): Answer {
  return xmlAnswer(errorXml(code, message, details), status);
}

export function xmlAnswer(body: string, status = 200, headers: Record<string, string> = {}): Answer {
  return { status, headers: { 'content-type': 'application/xml', ...headers }, body };
}

/** An S3 response with these elements in this order; `inner` is XML and comes last. */
export function document(root: string, elements: Record<string, string | undefined>, inner = ''): string {
  const namespace = root === 'Error' ? '' : ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${namespace}>${fields(elements)}${inner}</${root}>`;
}

export function fields(elements: Record<string, string | undefined>): string {
  return Object.entries(elements)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([name, value]) => `<${name}>${escaped(value)}</${name}>`)
    .join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

export function unescaped(text: string): string {
  return text
    .replaceAll(/&(?:quot|#34|#x22);/g, '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
