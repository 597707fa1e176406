import { crc32 } from 'node:zlib';
import { contentOf } from '../../../support/strict-store/incoming.ts';
import { base64Crc32, carryOut, md5Etag, refusalAnswer } from '../../../support/strict-store/operations.ts';
import { DEFAULTS } from '../../../support/strict-store/strict-store.ts';
import {
  type Operation,
  Refusal,
  type Answer as StoreAnswer,
  type StoredObject,
} from '../../../support/strict-store/types.ts';
import { type Answers, Reply } from './answers.ts';
import type { Call } from './call.ts';
import type { World } from './world.ts';

/** The bucket of the deployment: the answers of the strict store for the objects of the world. */
export function bucket(world: World): Answers {
  return {
    s3: (call) => {
      const { status, headers, body = '' } = answerTo(call, world);
      const length = { 'content-length': Buffer.byteLength(body) };
      return new Reply((response) => response.writeHead(status, { ...headers, ...length }).end(body));
    },
  };
}

const META = 'x-amz-meta-';

function answerTo(call: Call, world: World): StoreAnswer {
  const { headers, key, input, body } = call;
  const objects = new Map([...world.objects].map(([each, bytes]) => [each, storedObject(each, bytes, world)]));
  const contents = { objects, uploads: new Map(), completed: new Map() };
  const request = {
    operation: call.operation as Operation,
    key,
    partNumber: undefined,
    attempt: 1,
    number: 1,
    headers,
  };
  const query = new URLSearchParams(input as Record<string, string>);
  try {
    return carryOut({ request, query, ...contentOf(call, body) }, contents, DEFAULTS);
  } catch (error) {
    if (error instanceof Refusal) return refusalAnswer(error);
    throw error;
  } finally {
    keep(key, objects.get(key), world);
  }
}

function storedObject(key: string, body: Buffer, { metadata, written }: World): StoredObject {
  const own = Object.entries(metadata.get(key) ?? {});
  return {
    body,
    // Computed only for the object that is read.
    get etag() {
      return md5Etag(body);
    },
    get crc32() {
      return base64Crc32(crc32(body));
    },
    headers: Object.fromEntries(own.map(([name, value]) => [`${META}${name}`, value])),
    at: new Date(written.get(key) ?? Date.now()),
  };
}

/** Takes an object that the store has changed or removed into the world. */
function keep(key: string, object: StoredObject | undefined, { objects, metadata }: World): void {
  if (!object) objects.delete(key);
  if (!object || object.body === objects.get(key)) return;
  objects.set(key, object.body);
  const own = Object.entries(object.headers).filter(([name]) => name.startsWith(META));
  metadata.set(key, Object.fromEntries(own.map(([name, value]) => [name.slice(META.length), value])));
}
