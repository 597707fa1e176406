import { extensionFor, mediaType, type StoredKind } from '../../core/files/file-name.ts';
import { type Expected, type Judgement, judgeFile, rejection } from '../../core/files/judge-file.ts';
import type { FileHead, NamedObject } from '../../transfer/base/types.ts';

/** The engine passes so much of a file, or all of a shorter one. */
const SEEN_BYTES = 1024;

/**
 * Names the object by its first bytes. What they disprove is refused; what they leave open, PublishFile decides.
 * @param place the key without its extension
 */
export function nameFile(
  head: FileHead,
  first: Uint8Array,
  place: string,
  expected: Expected,
): NamedObject | { refuse: string } {
  const complete = first.length < SEEN_BYTES || first.length === head.length;
  const judged = judgeFile(first, complete, expected);
  const contentType = mediaType(head.contentType);
  const refuse = (looks: string) => ({ refuse: rejection('What came', looks, contentType, expected.formats) });
  if (judged.result === 'refused') return refuse(judged.looks);
  // Where there are no bytes, the type is all that can be judged.
  if (judged.result === 'empty' && contentType.includes('html')) return refuse('an empty web page');
  // What a zip archive is, the directory at its end decides.
  const open = judged.result === 'open' || (judged.result === 'zip' && !judged.sure);
  const extension = extensionFor(head, { format: kindOf(judged), gzipped: judged.gzipped, open });
  return { key: `${place}.${extension}`, contentType: contentType || 'application/octet-stream' };
}

function kindOf(judged: Exclude<Judgement, { result: 'refused' }>): StoredKind | null {
  if (judged.result === 'empty') return null;
  if (judged.result === 'csv') return 'csv';
  if (judged.result === 'open') return judged.format;
  if (judged.result === 'zip') return judged.sheet ? 'xlsx' : 'zip';
  return judged.format === 'archive' ? 'zip' : judged.format;
}
