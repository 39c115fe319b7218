import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

const { createContext } = vm;

// The memory of a worker of many test files is freed by the system: Node takes longer for it than the half second after
// which Jest reports that the worker has failed to exit.
if (process.send !== undefined) process.on('exit', (code) => process.reallyExit(code));

function createPlainContext() {
  return createContext(vm.constants.DONT_CONTEXTIFY);
}

/**
 * Jest's environment of Node, with globals that cost no more than in production. Jest wraps the globals of a test file in
 * interceptors and a proxy, which makes each use of `Array`, `Math` or `Buffer` about twenty times as slow.
 */
export default class PlainEnvironment extends TestEnvironment {
  constructor(...parameters) {
    vm.createContext = createPlainContext;
    try {
      super(...parameters);
    } finally {
      vm.createContext = createContext;
    }
  }
}
