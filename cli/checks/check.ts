import type { TargetOptions } from '../support/target.ts';
import { completed } from './completed.ts';
import { asRemark, type Finding } from './finding.ts';
import { findingOf } from './finding-of.ts';

/** A question about a deployment, and how it is answered. */
export interface Check<Context> {
  id: string;
  question: string;
  /** What AWS has to allow, such as `s3:GetBucketVersioning on the bucket`. */
  rights: string[];
  /** The option of the command without which the check is not made. */
  option?: string;
  /** Something is made in the account, which one command at a time may do. */
  makes?: true;
  look: (context: Context) => Finding | Finding[] | Promise<Finding | Finding[]>;
}

/** An answered question. */
export interface Checked extends Omit<Finding, 'of'> {
  /** The id of the check, with what the finding is about: `columns.leads`. */
  id: string;
  question: string;
  rights: string[];
}

/** The check for a command that works although it does not hold. */
export function remark<Context>(check: Check<Context>): Check<Context> {
  return { ...check, look: async (context) => (await findingsOf(check, context)).map((one) => asRemark(one)) };
}

/** The check for a command that fails by what is wrong, but not where nobody may look. */
export function ifSeen<Context>(check: Check<Context>): Check<Context> {
  const soften = (one: Finding) => (one.verdict === 'unknown' ? asRemark(one) : one);
  return { ...check, look: async (context) => (await findingsOf(check, context)).map(soften) };
}

/** The check for a command that has what it needs in another form. */
export function given<Inner, Outer>(
  check: Check<Inner>,
  contextOf: (outer: Outer) => Inner | Promise<Inner>,
): Check<Outer> {
  return { ...check, look: async (outer) => check.look(await contextOf(outer)) };
}

/**
 * Makes one check. An error becomes its finding, so that the next one is made.
 * @param place filled into the commands that advice names
 */
export async function checked<Context>(
  check: Check<Context>,
  context: Context,
  place: TargetOptions,
): Promise<Checked[]> {
  const { id, question, rights } = check;
  return (await findingsOf(check, context)).map(({ of, found, advice, ...finding }) => ({
    ...finding,
    id: of === undefined ? id : `${id}.${of}`,
    question,
    found: completed(found, place),
    advice: advice === null ? null : completed(advice, place),
    rights: rights.map((right) => right.split(' on ')[0] ?? right),
  }));
}

async function findingsOf<Context>({ look }: Check<Context>, context: Context): Promise<Finding[]> {
  try {
    return [await look(context)].flat();
  } catch (error) {
    return [findingOf(error)];
  }
}
