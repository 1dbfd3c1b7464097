PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE run (
  id integer primary key, began text not null, slots integer not null, objective text not null,
  policy text not null, folder text not null, jobs text not null, lasted real not null default 0,
  status text not null default 'running');
INSERT INTO run VALUES(1,'2026-11-23T20:31:00Z',2,'sum:response','auto','','[{"name": "squares", "deadline": 60.06752702599988, "calls": 5, "weight": 2.0, "user": "ann", "after": []}, {"name": "calls", "deadline": null, "calls": 1}]',0.14361838399986481817,'stopped');
CREATE TABLE session (
  id integer primary key, run integer not null, began text not null, at real not null,
  pid integer not null);
INSERT INTO session VALUES(1,1,'2026-11-23T20:31:00Z',0.0,16954);
CREATE TABLE attempt (
  run integer not null, job integer not null, task integer not null, attempt integer not null,
  status integer not null, began real not null, seconds real not null, cpu real not null,
  memory real not null, how text not null, primary key (run, job, task, attempt)) without rowid;
INSERT INTO attempt VALUES(1,0,0,0,0,0.073012718999962089583,0.00010215099996457865927,0.0,0.0,'');
INSERT INTO attempt VALUES(1,0,1,0,0,0.073074339999948279,9.7244000016871723346e-05,0.0,0.0,'');
INSERT INTO attempt VALUES(1,0,2,0,0,0.095603512000025148154,5.913799986956291832e-05,0.0,0.0,'');
INSERT INTO attempt VALUES(1,0,3,0,0,0.095603512000025148154,2.2444000023824628442e-05,0.0,0.0,'');
INSERT INTO attempt VALUES(1,0,4,0,0,0.099579649999895991641,6.1100000039004953578e-05,0.0,0.0,'');
INSERT INTO attempt VALUES(1,1,0,0,1,0.10969898500002273067,0.0019170989999111043289,0.0,0.0,'');
CREATE TABLE decision (
  run integer not null, at real not null, job integer not null, slots integer not null,
  why text not null);
INSERT INTO decision VALUES(1,0.07230091499991431192,0,2,'its share');
INSERT INTO decision VALUES(1,0.10919031200000972603,1,1,'its maximum');
CREATE TABLE flying (
  run integer not null, job integer not null, tasks integer not null, began real not null,
  latest real not null, primary key (run, job)) without rowid;
CREATE TABLE result (
  run integer not null, job integer not null, task integer not null, digest blob not null,
  value blob not null, primary key (run, job, task)) without rowid;
INSERT INTO result VALUES(1,0,0,X'eb45653545a398ed6f72aa645011bc25',X'80054b002e');
INSERT INTO result VALUES(1,0,1,X'6ad476b78519afd6cc74ada39cc7da35',X'80054b012e');
INSERT INTO result VALUES(1,0,2,X'fce246a9d251ed6b2ef3dfebb8b979eb',X'80054b042e');
INSERT INTO result VALUES(1,0,3,X'2ccb1fa4e51ba3f09f33847e0ea604d9',X'80054b092e');
INSERT INTO result VALUES(1,0,4,X'cf6a4b72b865dd04c0360139f9e8fe81',X'80054b102e');
CREATE TABLE history (
  program text not null, user text not null, tasks integer not null, seconds real not null,
  squares real not null, primary key (program, user)) without rowid;
CREATE INDEX decision_of on decision (run, at);
COMMIT;
