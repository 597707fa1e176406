import type { Draw } from '../../../../sandbox/data/draw.ts';
import type { Service, Wish } from './service.ts';
import type { Table } from './table.ts';

/** Turns a good file into a bad one, at one stage of its writing. */
export interface Fault {
  name: string;
  wish?: Wish;
  table?: ((table: Table, draw: Draw, service: Service) => void) | undefined;
  /** Changes the text of a CSV file. */
  text?: ((text: string, draw: Draw, service: Service) => string) | undefined;
  /** Changes the delivered file. */
  packed?: ((bytes: Buffer, draw: Draw, service: Service) => Uint8Array) | undefined;
  /** Whether the CRM serves the export of the night before again, by its id. */
  oldExport?: true;
}

export const ofTable = (name: string, wish: Wish, table: Fault['table']): Fault => ({ name, wish, table });
export const ofText = (name: string, wish: Wish, text: Fault['text']): Fault => ({ name, wish, text });
export const ofPacked = (name: string, wish: Wish, packed: Fault['packed']): Fault => ({ name, wish, packed });
