import type { Manifest } from '../../core/export/manifest.ts';
import { failed } from './find.ts';

/** @throws CommandError (exit code 1) where the manifest says that its file is no CSV file */
export function refuseOtherThanCsv({ entity, date, file }: Pick<Manifest, 'entity' | 'date' | 'file'>): void {
  // Manifests of earlier releases do not name the format.
  if ((file.format ?? 'csv') === 'csv') return;
  throw failed(`The ${entity} of ${date} are ${file.format}, not CSV: download gets the file as it is.`);
}
