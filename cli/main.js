// JavaScript, so that Node need not load what strips types; and the cache comes before all other modules are compiled.
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

enableCompileCache(join(import.meta.dirname, '..', '.cache', 'compiled'));
await import('./main.ts');
