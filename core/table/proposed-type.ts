import type { ColumnType } from '../config/table-settings.ts';

type Plain = Extract<ColumnType, string>;

/** Words for types, in any spelling of their letters: `dateTime`, `date-time`. The interface document lists none. */
const WORDS: Record<Plain, string[]> = {
  text: ['string', 'text', 'varchar', 'char', 'uuid', 'guid', 'id', 'email', 'phone', 'url', 'enum', 'picklist'],
  integer: ['integer', 'int', 'int16', 'int32', 'int64', 'long', 'bigint', 'smallint', 'short'],
  double: ['number', 'double', 'float', 'real'],
  boolean: ['boolean', 'bool'],
  date: ['date'],
  timestamp: ['datetime', 'timestamp', 'datetimeoffset', 'timestamptz'],
};
const TYPES = new Map(
  (Object.keys(WORDS) as Plain[]).flatMap((type) => WORDS[type].map((word): [string, Plain] => [word, type])),
);

/**
 * The type of a table's column for one that the CRM names; `undefined` where the word means nothing here, or too little: a
 * decimal needs its digits. No value is looked at: a type that follows the values of a night changes from night to night.
 */
export function proposedType(crmType: string): Plain | undefined {
  return TYPES.get(crmType.toLowerCase().replace(/[_-]/g, ''));
}
