import { testReadingPastParser, transfersByWire } from '../support/past-parser.ts';

testReadingPastParser(await transfersByWire(), process.env.CI ? 300 : 1500);
