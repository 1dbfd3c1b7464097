PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE run (
  id integer primary key, began text not null, slots integer not null, objective text not null,
  policy text not null, folder text not null, jobs text not null, lasted real not null default 0,
  status text not null default 'running');
INSERT INTO run VALUES(1,'2026-11-23T20:52:54Z',2,'sum:response','auto','@FOLDER@','[{"name": "sum", "command": "echo {} >>ran; sleep 0.2; true", "over": {"range": [1, 15, 2]}, "weight": 2, "deadline": 100, "environment": {"V1": "yes"}}, {"name": "matrix", "command": "echo {sample}-{seed} >>ran", "over": {"matrix": {"sample": ["x", "y z"], "seed": {"range": "1-2"}}}, "after": ["sum"]}, {"name": "list", "commands": ["echo one >>ran", ["sh", "-c", "echo two >>ran"]], "timeout": 9, "memory": "1M"}]',0.58599028000026009976,'running');
CREATE TABLE session (
  id integer primary key, run integer not null, began text not null, at real not null,
  pid integer not null);
INSERT INTO session VALUES(1,1,'2026-11-23T20:52:54Z',0.0,17818);
CREATE TABLE attempt (
  run integer not null, job integer not null, task integer not null, attempt integer not null,
  status integer not null, began real not null, seconds real not null, cpu real not null,
  memory real not null, how text not null, primary key (run, job, task, attempt)) without rowid;
INSERT INTO attempt VALUES(1,0,0,0,0,0.08501911900020786561,0.20428324800013797357,0.0022279999999999999457,11841536.0,'');
INSERT INTO attempt VALUES(1,0,1,0,0,0.085083935000056953867,0.21435703599991029477,0.0022899999999999999349,11841536.0,'');
INSERT INTO attempt VALUES(1,0,2,0,0,0.35264152100035062176,0.22277584199991906643,0.0026869999999999997185,11841536.0,'');
INSERT INTO attempt VALUES(1,0,3,0,0,0.35269138500007102265,0.22128413300015381537,0.002671999999999999896,11841536.0,'');
INSERT INTO attempt VALUES(1,2,0,0,0,0.0022276990002865204587,0.004574103999857470626,0.0011719999999999998648,11841536.0,'');
INSERT INTO attempt VALUES(1,2,1,0,0,0.0022797760002504219301,0.004048153999974601902,0.0012580000000000000036,11841536.0,'');
CREATE TABLE decision (
  run integer not null, at real not null, job integer not null, slots integer not null,
  why text not null);
INSERT INTO decision VALUES(1,0.001759275000040361192,2,2,'its maximum');
INSERT INTO decision VALUES(1,0.084521972999937133863,0,2,'its share');
CREATE TABLE flying (
  run integer not null, job integer not null, tasks integer not null, began real not null,
  latest real not null, primary key (run, job)) without rowid;
INSERT INTO flying VALUES(1,2,2,0.0022537375002684711944,0.0022797760002504219301);
CREATE TABLE result (
  run integer not null, job integer not null, task integer not null, digest blob not null,
  value blob not null, primary key (run, job, task)) without rowid;
CREATE TABLE history (
  program text not null, user text not null, tasks integer not null, seconds real not null,
  squares real not null, primary key (program, user)) without rowid;
CREATE INDEX decision_of on decision (run, at);
COMMIT;
