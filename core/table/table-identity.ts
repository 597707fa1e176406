import { createHmac } from 'node:crypto';
import type { EntityPlan } from '../config/entity-settings.ts';
import { sha256Of } from '../json.ts';
import { type Query, quoted } from './engine.ts';
import type { TableColumn } from './table-columns.ts';

/** Identifies the rules and settings that made the rows of a table, and the key that hashed its columns. */

/** Version of the rules that turn files into rows. Raise it when equal files give other rows: feeds then restart. */
const RULES = 1;

/** A fixed text. Its HMAC under the key of the hashed columns identifies the key, and is part of the identity. */
const KEY_PROBE = 'crm-export: the key of the hashed columns';

/**
 * A digest of everything that decides how rows are made, as 16 hexadecimal digits. Between two tables of the same
 * identity, every difference is a change at the CRM. The order of settings and names does not matter.
 * @param madeOf the plan of the file's run, and the key of the hashed columns; `null` = no key
 */
export function tableIdentity(
  configured: Pick<EntityPlan, 'columns' | 'tables'>,
  madeOf: { plan: string; hashKey: string | null },
): string {
  const sorted = (names: readonly string[] = []) => [...new Set(names)].sort();
  const { except, hash, ...tables } = configured.tables ?? {};
  const decides = {
    rules: RULES,
    plan: madeOf.plan,
    tables: { ...tables, except: sorted(except), hash: sorted(hash) },
    columns: {
      except: sorted(configured.columns.except),
      labels: configured.columns.labels,
      none: configured.columns.header === 'none',
    },
    key: hash === undefined || madeOf.hashKey === null ? null : fingerprintOf(madeOf.hashKey),
  };
  return sha256Of(decides, 16);
}

/** Identifies the key of the hashed columns: hashes by one key are comparable. */
function fingerprintOf(key: string): string {
  return createHmac('sha256', key).update(KEY_PROBE).digest('hex').slice(0, 16);
}

/** The metadata of a table about its identity and its hashed columns. Names of columns contain no blanks. */
export function identityMetadata(identity: string, columns: readonly TableColumn[], hashKey: string | null) {
  const hashed = columns.flatMap(({ name, hashed }) => (hashed ? [name] : [])).join(' ');
  return { identity, ...(hashed !== '' && hashKey && { hashed, 'hashed-by': fingerprintOf(hashKey) }) };
}

/** The identity of a stored table, and how it hashes each column: `undefined` for a column that is not hashed. */
export async function readIdentity(query: Query, path: string) {
  const stored = await query(`SELECT decode(key), decode(value) FROM parquet_kv_metadata(${quoted(path)})`);
  const found: Partial<Record<string, string | null>> = Object.fromEntries(stored);
  const hashed = found['crm-export.hashed']?.split(' ');
  // Tables of an earlier release do not show which key made their hashes, so the hashes count as different.
  const by = found['crm-export.hashed-by'] ?? path;
  return {
    identity: found['crm-export.identity'] ?? undefined,
    hashOf: (name: string) => (hashed?.includes(name) ? by : undefined),
  };
}
