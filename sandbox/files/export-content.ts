import type { Entity } from '../../core/config/entities.ts';
import { csvLine, recordLine } from '../data/csv.ts';
import { DISTINCT_RECORDS } from '../data/records.ts';
import { select } from '../data/select.ts';
import { bufferContent, type FileContent } from '../world/content.ts';
import type { ExportRequest } from '../world/jobs.ts';
import { bytesOf, rowsOf } from '../world/settings.ts';
import type { World } from '../world/world.ts';
import { blockContent } from './blocks.ts';

/** The CSV file of an export request: UTF-8, the columns in the requested order, CRLF line ends. */
export function exportContent({ settings, records }: World, entity: Entity, request: ExportRequest): FileContent {
  const { columns } = request;
  const { canary } = settings;
  const header = csvLine(columns);
  const targetBytes = bytesOf(settings, entity);
  const all = records.list(entity, targetBytes === null ? rowsOf(settings, entity) : DISTINCT_RECORDS);
  const selected = select(all, request);
  if (targetBytes !== null)
    return blockContent({ records: selected, columns, canary, targetBytes }, Buffer.from(header));
  return bufferContent([header, ...selected.map((record) => recordLine(record, columns, canary))].join(''));
}
