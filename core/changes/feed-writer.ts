import { ParquetWriter } from 'hyparquet-writer';
import type { Value } from '../table/column-types.ts';
import { createdBy } from '../table/created-by.ts';
import { GatheredColumns } from '../table/gathered-columns.ts';
import { type Sink, SinkWriter } from '../table/sink-writer.ts';
import type { ChangeType } from './compare-part.ts';
import { type FeedPlace, feedSchema, ownValues } from './feed-columns.ts';
import type { TableColumn } from './table-reader.ts';

export type ChangeCounts = Record<ChangeType, number>;

/** Writes the rows of a feed: Parquet, in row groups of bounded size. Equal rows make equal bytes. */
export class FeedWriter {
  readonly counts: ChangeCounts = { insert: 0, delete: 0, update_preimage: 0, update_postimage: 0 };
  readonly #own: ReturnType<typeof ownValues>;
  readonly #columns: GatheredColumns;
  readonly #bytes: SinkWriter;
  readonly #parquet: ParquetWriter;

  constructor(columns: readonly TableColumn[], place: FeedPlace, softwareVersion: string, sink: Sink) {
    const schema = feedSchema(columns);
    this.#own = ownValues(place);
    this.#columns = new GatheredColumns(
      schema.slice(1).map(({ name, type }) => ({ name, boolean: type === 'BOOLEAN' })),
    );
    this.#bytes = new SinkWriter(sink);
    this.#parquet = new ParquetWriter({
      writer: this.#bytes,
      schema,
      codec: 'SNAPPY',
      createdBy: createdBy(softwareVersion),
    });
  }

  get bytes(): number {
    return this.#bytes.offset;
  }

  /** Whether what was added has to be written. */
  get full(): boolean {
    return this.#columns.full;
  }

  add(type: ChangeType, values: readonly Value[]): void {
    this.counts[type] += 1;
    for (const [place, [, own]] of this.#own.entries()) this.#columns.put(place, own(type), 0);
    for (const [place, value] of values.entries()) {
      this.#columns.put(this.#own.length + place, value, typeof value === 'string' ? value.length : 0);
    }
  }

  async flush(): Promise<void> {
    await this.#parquet.write(this.#columns.take());
  }

  async finish(): Promise<void> {
    if (!this.#columns.empty) await this.flush();
    await this.#parquet.finish();
  }
}
