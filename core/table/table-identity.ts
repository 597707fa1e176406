import { createHash, createHmac } from 'node:crypto';
import { exceptedOf, isHeaderless, labelsOf } from '../config/chosen-columns.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import { canonicalText } from '../json.ts';

/** Version of the rules that turn files into rows. Raise it when equal files give other rows: feeds then restart. */
const RULES = 1;

/** The text that identifies the key of the hashed columns: its HMAC is part of the identity. */
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
    columns: { except: sorted(exceptedOf(configured)), labels: labelsOf(configured), none: isHeaderless(configured) },
    key: hash === undefined || madeOf.hashKey === null ? null : fingerprintOf(madeOf.hashKey),
  };
  return createHash('sha256').update(canonicalText(decides)).digest('hex').slice(0, 16);
}

/** Identifies the key of the hashed columns: hashes by one key are comparable. */
export function fingerprintOf(key: string): string {
  return createHmac('sha256', key).update(KEY_PROBE).digest('hex').slice(0, 16);
}

/** The metadata key of the identity in a table. */
export const IDENTITY_KEY = 'crm-export.identity';
/** The metadata key of the names of the hashed columns, with blanks between them. */
export const HASHED_KEY = 'crm-export.hashed';
/** The metadata key of the fingerprint of their key. */
export const HASHED_BY_KEY = 'crm-export.hashed-by';
