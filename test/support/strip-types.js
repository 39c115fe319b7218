import { stripTypeScriptTypes } from 'node:module';

/** Jest transformer: tests run exactly what production strips. */
export default {
  process: (source) => ({ code: stripTypeScriptTypes(source) }),
};
