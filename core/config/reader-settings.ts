import * as z from 'zod';
import { ENTITIES, entitySchema } from './entities.ts';

/** The part of a deployment's configuration that is about readers in other accounts. */

// Wildcards and variables of policies are not among these: a role is one role.
const ROLE = /^arn:aws(-cn|-us-gov)?:iam::\d{12}:role\/([\w+=,.@-]{1,64}\/){0,8}[\w+=,.@-]{1,64}$/;

const principal = z.union(
  [
    z.string().regex(/^\d{12}$/),
    z.string().regex(ROLE),
    z.strictObject({
      organization: z
        .string()
        .regex(/^o-[a-z0-9]{10,32}$/, 'must be the id of an organization, such as "o-a1b2c3d4e5"'),
    }),
  ],
  {
    error:
      'must be an account ("444455556666"), the ARN of a role ("arn:aws:iam::444455556666:role/NAME", no user, session or wildcard) or {"organization": "o-…"}',
  },
);

const entities = z.union([z.literal('all'), z.array(entitySchema).min(1, 'names no entity')], {
  error: `must be "all" or a list of ${ENTITIES.join(', ')}`,
});

const readerSchema = z.strictObject({
  principal,
  entities,
  of: z.array(z.enum(['tables', 'files'])).min(1, 'names neither "tables" nor "files"'),
});
export type Reader = z.infer<typeof readerSchema>;

export const readersSchema = z
  .array(readerSchema)
  .default([])
  .describe('Who may read from other accounts (docs/configuration.md, "Readers in other accounts").');
