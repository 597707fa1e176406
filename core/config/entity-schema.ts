import * as z from 'zod/mini';
import { ENTITIES } from './entities.ts';

/** In a file of its own, because the help of the commands needs the names but not the time that zod takes to load. */
export const entitySchema = z.enum(ENTITIES);
