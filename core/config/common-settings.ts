import * as z from 'zod';

/** Schemas that several settings share. */

export const whole = (least: number, most: number) => z.int().min(least).max(most);

export const share = z.number().min(0).max(1);

/** The rule of a list that has each value once. @param what kind of value, for the message: `a column` */
export const once = (what: string) =>
  [(values: unknown[]) => new Set(values).size === values.length, { error: `names ${what} twice` }] as const;

/** A list that is not empty and has each value once. @param what kind of value, for the message: `a column` */
export function listOf<T extends z.ZodType>(value: T, most: number, what: string) {
  return z
    .array(value)
    .min(1)
    .max(most)
    .refine(...once(what));
}

/** A name of a column in the settings of tables and feeds. */
export const columnName = z.string().min(1).max(200);
export const columnNames = listOf(columnName, 200, 'a column');
