import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { Agent } from 'node:http';

/**
 * The proxy that the gateway is compared with: one hop of express and http-proxy-middleware, no authentication, no
 * metering. Usage: `node pass-through.ts <port> <target>`.
 */
const [port, target] = process.argv.slice(2);
const app = express();
app.use(createProxyMiddleware({ target: target ?? '', agent: new Agent({ keepAlive: true }) }));
app.listen(Number(port), '127.0.0.1', () => process.send?.('listening'));
process.on('disconnect', () => process.exit(0));
