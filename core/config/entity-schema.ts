import * as z from 'zod/mini';
import { ENTITIES } from './entities.ts';

/** This file is separate, because the help of commands needs only the names, and zod takes time to load. */
export const entitySchema = z.enum(ENTITIES);
