import chromium from '@sparticuz/chromium';

/** A process of its own, because the package unpacks into the folder that TMPDIR names, and adds libraries only in a function. */
await chromium.executablePath();
