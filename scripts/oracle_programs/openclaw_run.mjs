// Run by Node: one turn of OpenClaw's agent in a session, without its gateway.
import fs from "node:fs";
import path from "node:path";

const [dist, sessionId, model, message] = process.argv.slice(2);
const chunk = fs.readdirSync(dist).find((name) => /^agent-command-.*\.js$/.test(name));
if (!chunk) throw new Error("OpenClaw's agent command was not found");
const command = Object.values(await import(path.join(dist, chunk))).find((value) => value?.name === "agentCommand");
const runtime = {
  log() {},
  error: (...words) => console.error(...words),
  exit: (code) => {
    throw new Error(`exit ${code}`);
  },
  writeJson() {},
  writeStdout() {},
};
try {
  await command({ message, json: true, timeout: "90", model, sessionId }, runtime, {});
  process.exit(0);
} catch (error) {
  console.error(String(error?.message ?? error));
  process.exit(1);
}
