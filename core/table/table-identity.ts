import { createHash, createHmac } from 'node:crypto';
import { exceptedOf, isHeaderless, labelsOf } from '../config/chosen-columns.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import { canonicalText } from '../json.ts';

/** How files and settings become rows. To be raised when a release makes other rows of the same: then feeds begin anew. */
const RULES = 1;

/** What the key of the hashed columns is told by. */
const KEY_PROBE = 'crm-export: the key of the hashed columns';

/**
 * Says whether the rows of two tables came to be in the same way, so that what differs between them has changed at the CRM: 16 hexadecimal
 * digits. Neither the order of keys nor that of names matters.
 * @param madeOf the plan of the file's run, and the key of the hashed columns; `null` where there is none
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

function fingerprintOf(key: string): string {
  return createHmac('sha256', key).update(KEY_PROBE).digest('hex').slice(0, 16);
}

/** Where a table says its identity. */
export const IDENTITY_KEY = 'crm-export.identity';
