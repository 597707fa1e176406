import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Target } from '../../../cli/support/target.ts';
import { tree } from '../../lib/support/files.ts';

/** Downloads an object, so that a query can read it. @returns the path of the file */
export async function fileOf({ s3, BucketName }: Target, Key: string, VersionId?: string): Promise<string> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: BucketName, Key, VersionId }));
  const path = join(tree({}), 'object');
  writeFileSync(path, await buffer(Body as AsyncIterable<Uint8Array>));
  return path;
}

/** The rows that DuckDB answers to a query. */
export async function query(sql: string): Promise<Record<string, unknown>[]> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const result = await connection.runAndReadAll(sql);
  connection.closeSync();
  return result.getRowObjectsJson() as Record<string, unknown>[];
}
