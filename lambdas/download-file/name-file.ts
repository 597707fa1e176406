import type { FileFormat } from '../../core/config/file-formats.ts';
import { listedFields } from '../../core/files/field-names.ts';
import { extensionFor, mediaType } from '../../core/files/file-name.ts';
import { judgeFile, rejection } from '../../core/files/judge-file.ts';
import type { Run } from '../../core/step/states.ts';
import type { FileHead, NamedObject } from '../../transfer/index.ts';

/** The engine passes so much of a file, or all of a shorter one. */
const SEEN_BYTES = 1024;

/** Names the object by its first bytes. What they disprove is refused; what they leave open, PublishFile decides. */
export function nameFile(
  head: FileHead,
  first: Uint8Array,
  run: Run,
  formats: readonly FileFormat[],
): NamedObject | { refuse: string } {
  const complete = first.length < SEEN_BYTES || first.length === head.length;
  const judged = judgeFile(first, complete, { ...listedFields(run), formats });
  const contentType = mediaType(head.contentType);
  const refuse = (looks: string) => ({ refuse: rejection('What came', looks, contentType, formats) });
  if (judged.result === 'refused') return refuse(judged.looks);
  // Where there are no bytes, the type is all that can be judged.
  if (judged.result === 'empty' && contentType.includes('html')) return refuse('an empty web page');
  const extension = extensionFor(head, {
    format: judged.result === 'empty' ? null : judged.format,
    gzipped: judged.gzipped,
    open: judged.result === 'open',
  });
  return { key: `${run.prefix}${run.entity}.${extension}`, contentType: contentType || 'application/octet-stream' };
}
